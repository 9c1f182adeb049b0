// A pipeline whose stages run at once, and what becomes of them when it is not needed any more: the reader has seen enough,
// a stage fails, or the time is up. The stages live in a weft::group, whose context is cancelled in each of these cases;
// every stage that waits then stops waiting, and the group does not end before the last of them. None is left behind.
#include <weft/chan.h>
#include <weft/context.h>
#include <weft/go.h>
#include <weft/group.h>
#include <weft/runtime.h>
#include <weft/select.h>
#include <chrono>
#include <cstdio>
#include <optional>
#include <stdexcept>
#include <system_error>

using namespace std::chrono_literals;

namespace {

using numbers = weft::chan<long>;  // a stage gets one end of it, numbers::sender or numbers::receiver

// False: cancelled, nobody wants it.
bool send(const weft::context& ctx, const numbers::sender& out, long value) {
  return weft::select(weft::on_send(out, value), weft::on_recv(ctx.done())) == 0;
}

// Nothing: the channel is closed, or nobody wants to know.
std::optional<long> receive(const weft::context& ctx, const numbers::receiver& in) {
  std::optional<long> value;
  weft::select(weft::on_recv(in, [&](std::optional<long> v) { value = v; }), weft::on_recv(ctx.done()));
  return value;
}

// 1, 2, 3, ... as long as they are wanted.
numbers::receiver count(weft::group& stages) {
  numbers out;
  stages.go([out = numbers::sender(out)](const weft::context& ctx) {
    for (long n = 1; send(ctx, out, n); ++n) {
    }
  });
  return out;
}

template <class F>
numbers::receiver transform(weft::group& stages, numbers::receiver in, F f) {
  numbers out;
  stages.go([in, out, f](const weft::context& ctx) {
    while (const auto value = receive(ctx, in))
      if (!send(ctx, out, f(*value))) break;
  });
  return out;
}

template <class F>
numbers::receiver filter(weft::group& stages, numbers::receiver in, F keep) {
  numbers out;
  stages.go([in, out, keep](const weft::context& ctx) {
    while (const auto value = receive(ctx, in))
      if (keep(*value) && !send(ctx, out, *value)) break;
  });
  return out;
}

long square(long n) { return n * n; }
bool is_palindrome(long n) {
  long reversed = 0;
  for (long rest = n; rest > 0; rest /= 10) reversed = reversed * 10 + rest % 10;
  return reversed == n;
}

void enough() {
  weft::group stages;
  const numbers::receiver found = filter(stages, transform(stages, count(stages), square), is_palindrome);
  std::printf("squares that read the same both ways:");
  for (int i = 0; i < 10; ++i) std::printf(" %ld", *found.recv());
  std::printf("\n");
}  // the end of the group: cancelled, and waited for

void failure() {
  weft::group stages;
  const numbers::receiver found = transform(stages, count(stages), [](long n) {
    if (n == 1000) throw std::runtime_error("the stage cannot do 1000");
    return n;
  });
  long last = 0;
  while (const auto value = receive(stages.ctx(), found)) last = *value;
  try {
    stages.wait();
  } catch (const std::exception& error) {
    std::printf("after %ld: %s\n", last, error.what());
  }
}

void out_of_time() {
  const auto [limited, cancel] = weft::with_timeout(weft::context::background(), 50ms);
  weft::group stages(limited);
  const numbers::receiver found = filter(stages, count(stages), [](long n) { return n < 0; });
  if (!receive(stages.ctx(), found) && limited.err() == std::errc::timed_out)
    std::printf("no negative number was found in time\n");
}

}  // namespace

int main() {
  weft::run([] {
    enough();
    failure();
    out_of_time();
    // A goroutine that has done its work may need a moment to be gone.
    for (int i = 0; weft::runtime::num_goroutines() > 1 && i < 1000; ++i) weft::this_goroutine::sleep_for(1ms);
    std::printf("goroutines left: %zu, this one\n", weft::runtime::num_goroutines());
  });
}
