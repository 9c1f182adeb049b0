// An integer semaphore as a process: its value is a variable that only this process touches, V is a message it always takes,
// P one that it takes only while the value is positive. Hoare, Communicating Sequential Processes (1978), section 5.2.
// (In earnest write weft::counting_semaphore, which costs a few nanoseconds.)
#include <weft/chan.h>
#include <weft/go.h>
#include <weft/select.h>
#include <weft/wait_group.h>
#include <atomic>
#include <cstdio>
#include <optional>
#include <variant>

namespace {

using signal = std::monostate;  // a message that says nothing but that it came

struct semaphore {
  weft::chan<signal> p, v;
};

void serve(semaphore s, int value) {
  bool in_use = true;
  while (in_use)
    weft::select(weft::on_recv(s.v,
                               [&](std::optional<signal> came) {
                                 if (came)
                                   ++value;
                                 else
                                   in_use = false;
                               }),
                 weft::on_recv(value > 0 ? s.p : weft::chan<signal>::nil(), [&](std::optional<signal>) { --value; }));
}

}  // namespace

int main() {
  weft::run([] {
    constexpr int kPlaces = 3;
    semaphore places;
    weft::go(serve, places, kPlaces);
    std::atomic<int> inside{0}, visits{0}, crowded{0};
    weft::wait_group visitors;
    for (int i = 0; i < 100; ++i)
      visitors.go([&, s = places] {
        for (int k = 0; k < 10; ++k) {
          s.p.send({});
          if (++inside > kPlaces) ++crowded;
          ++visits;
          weft::this_goroutine::yield();  // stay a while: others would come in if they could
          --inside;
          s.v.send({});
        }
      });
    visitors.wait();
    places.v.close();
    std::printf("100 processes paid %d visits; %d times more than %d were inside\n", visits.load(), crowded.load(),
                kPlaces);
  });
}
