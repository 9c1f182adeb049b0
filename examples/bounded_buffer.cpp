// A buffer between a producer and a consumer who work in bursts: a process with room for ten portions, which listens to the
// producer only while it has room, and offers to the consumer only while it has something. A guard is a nil channel: a case
// on it is never ready. Hoare, Communicating Sequential Processes (1978), section 5.1. His processes could wait for inputs
// only, and his consumer had to ask for more; a select may wait to send as well.
// (In earnest write weft::chan<int>(10), which is just such a buffer, without a process.)
#include <weft/chan.h>
#include <weft/go.h>
#include <weft/select.h>
#include <array>
#include <chrono>
#include <cstdio>
#include <optional>

using namespace std::chrono_literals;

namespace {

template <class T>
weft::chan<T> when(bool guard, weft::chan<T> channel) {
  return guard ? channel : weft::chan<T>::nil();
}

void buffer(weft::chan<int> producer, weft::chan<int> consumer) {
  std::array<int, 10> portions{};
  std::size_t in = 0, out = 0;
  bool producing = true;
  while (producing || out < in)
    weft::select(weft::on_recv(when(producing && in < out + portions.size(), producer),
                               [&](std::optional<int> portion) {
                                 if (portion)
                                   portions[in++ % portions.size()] = *portion;
                                 else
                                   producing = false;
                               }),
                 weft::on_send(when(out < in, consumer), portions[out % portions.size()], [&] { ++out; }));
  consumer.close();
}

}  // namespace

int main() {
  weft::run([] {
    weft::chan<int> producer, consumer;
    weft::go(buffer, producer, consumer);
    int portion = 0;
    while (producer.send_for(portion, 50ms)) ++portion;
    std::printf("%d portions fit while nobody consumes\n", portion);

    weft::go([producer, portion]() mutable {
      for (; portion < 1000; ++portion) producer.send(portion);
      producer.close();
    });
    int received = 0;
    bool in_order = true;
    for (int next : consumer) in_order = in_order && next == received++;
    std::printf("%d portions came out, %s\n", received, in_order ? "in order" : "NOT in order");
  });
}
