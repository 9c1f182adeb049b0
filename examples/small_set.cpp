// Data representation: a set of at most a hundred integers, owned by a process that nobody else can look into. What others
// can do with it are the channels it listens to; `select` serves whichever is used next. No lock, and none needed.
// Hoare, Communicating Sequential Processes (1978), section 4.3, and 4.4 for scanning the set: the scanner hands over a
// channel of its own, through a channel of channels.
#include <weft/chan.h>
#include <weft/go.h>
#include <weft/select.h>
#include <algorithm>
#include <cstdio>
#include <optional>
#include <vector>

namespace {

struct small_set {
  weft::chan<int> insert, has;
  weft::chan<bool> answer;              // to has
  weft::chan<weft::chan<int>> members;  // sends them all into the channel it is given
};

void serve(small_set set) {
  std::vector<int> content;
  bool in_use = true;
  const auto is_member = [&](int n) { return std::find(content.begin(), content.end(), n) != content.end(); };
  while (in_use)
    weft::select(weft::on_recv(set.insert,
                               [&](std::optional<int> n) {
                                 if (!n)
                                   in_use = false;  // closed: that was all
                                 else if (!is_member(*n) && content.size() < 100)
                                   content.push_back(*n);
                               }),
                 weft::on_recv(set.has, [&](std::optional<int> n) { set.answer.send(is_member(*n)); }),
                 weft::on_recv(set.members, [&](std::optional<weft::chan<int>> scanner) {
                   for (int n : content) scanner->send(n);
                   scanner->close();
                 }));
}

void scan(small_set set) {
  weft::chan<int> all;
  set.members.send(all);
  for (int n : all) std::printf(" %d", n);
}

}  // namespace

int main() {
  weft::run([] {
    small_set set;
    weft::go(serve, set);
    for (int n : {314, 159, 265, 358, 979, 314, 159}) set.insert.send(n);
    std::printf("inserted:");
    scan(set);
    for (int n : {265, 266}) {
      set.has.send(n);
      std::printf("\nhas %d: %s", n, *set.answer.recv() ? "yes" : "no");
    }
    for (int n = 0; n < 1000; ++n) set.insert.send(n);
    for (int n : {93, 94, 95, 314}) {
      set.has.send(n);
      std::printf("\nhas %d: %s", n, *set.answer.recv() ? "yes" : "no");
    }
    std::printf("\na hundred is all it holds\n");
    set.insert.close();
  });
}
