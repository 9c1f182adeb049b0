// SPDX-License-Identifier: MIT
// test-timeout: 300
// test-labels: no-asan no-tsan
// The experiment of Go's design document for preemption: how long does a collection keep the program waiting? Goroutines
// allocate trees and compute in between for a good while without a call of the runtime. Without preemption the collector waits
// until they come by themselves; with it they are stopped at their next function call.
//
//   ./weft run -lgc examples/gc/pauses.cpp               both, side by side (needs libgc-dev)
//   ... --column                                         one of them, as WEFT_PREEMPT says
#include <weft/weft.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "collector.h"

namespace {

constexpr std::uint64_t kMark = 0x5eed'0f'1eaf;
constexpr int kGoroutines = 8, kDepth = 14;

struct node {
  std::uint64_t mark = kMark;
  std::uint64_t key = 0;
  node* left = nullptr;
  node* right = nullptr;
};

node* make_tree(int depth, std::uint64_t key) {
  node* tree = gc::collected<node>(kMark, key, nullptr, nullptr);
  if (depth > 0) {
    tree->left = make_tree(depth - 1, 2 * key);
    tree->right = make_tree(depth - 1, 2 * key + 1);
  }
  return tree;
}

// How many nodes are what they were made as.
int intact(const node* tree, int depth, std::uint64_t key) {
  if (tree == nullptr || tree->mark != kMark || tree->key != key) return 0;
  return depth == 0 ? 1 : 1 + intact(tree->left, depth - 1, 2 * key) + intact(tree->right, depth - 1, 2 * key + 1);
}

__attribute__((noinline)) std::uint64_t step(std::uint64_t x) {
  asm volatile("");
  return x * 6364136223846793005u + 1442695040888963407u;
}

// A good while of calling functions, but none of the runtime.
std::uint64_t compute() {
  std::uint64_t x = 1;
  for (int i = 0; i < 25'000'000; ++i) x = step(x);
  return x;
}

int column(bool blind, int rounds) {
  std::mutex lock;
  std::vector<gc::collection> collections;
  gc::collector collector(12 << 20, [&](const gc::collection& done) {
    const std::lock_guard guard(lock);
    collections.push_back(done);
  });
  if (blind) collector.forget_roots();
  std::atomic<int> damaged{0};
  std::atomic<std::uint64_t> made{0};
  weft::run([&] {
    weft::wait_group group;
    for (int g = 0; g < kGoroutines; ++g)
      group.go([&, g] {
        node* kept = make_tree(kDepth, static_cast<std::uint64_t>(g) + 1);  // only this stack knows it
        const int whole = (2 << kDepth) - 1;
        for (int round = 0; round < rounds; ++round) {
          for (int i = 0; i < 20; ++i) kept->left = make_tree(kDepth - 1, 2 * kept->key);
          made += 10u * (2u << kDepth) * sizeof(node);
          if (compute() == 0) ++damaged;  // never: it keeps the computation alive
          if (intact(kept, kDepth, static_cast<std::uint64_t>(g) + 1) != whole) ++damaged;
          weft::this_goroutine::yield();
        }
      });
    group.wait();
  });
  for (const gc::collection& each : collections)
    std::printf("%9.3f %9.3f %7.1f %7.1f\n", static_cast<double>(each.stop_ns) / 1e6,
                static_cast<double>(each.work_ns) / 1e6, static_cast<double>(each.before) / 1e6,
                static_cast<double>(each.after) / 1e6);
  if (damaged > 0) {
    std::printf("damaged: %d trees lost nodes that were in use\n", damaged.load());
    return 1;
  }
  std::size_t most = 0;
  for (const gc::collection& each : collections) most = std::max(most, each.after);
  std::fprintf(stderr, "%zu collections of %" PRIu64 " MB, never more than %zu MB kept\n", collections.size(),
               made.load() / 1'000'000, most / 1'000'000);
  return 0;
}

std::vector<std::string> run_column(const char* program, const char* preempt) {
  const std::string command = std::string("WEFT_PREEMPT=") + preempt + " '" + program + "' --column";
  std::vector<std::string> lines;
  FILE* output = popen(command.c_str(), "r");
  char line[256];
  while (output != nullptr && std::fgets(line, sizeof line, output) != nullptr) {
    lines.emplace_back(line, std::strcspn(line, "\n"));
  }
  if (output == nullptr || pclose(output) != 0) lines.emplace_back("failed");
  return lines;
}

// The one in the middle: a machine that is busy with other things makes single ones longer.
double middle_stop(const std::vector<std::string>& lines) {
  std::vector<double> stops;
  for (const std::string& line : lines) stops.push_back(std::strtod(line.c_str(), nullptr));
  std::ranges::sort(stops);
  return stops.empty() ? 0 : stops[stops.size() / 2];
}

}  // namespace

// check: run --column
// check: exit 0
// check: stderr ^\d+ collections of \d+ MB, never more than \d\d? MB kept
// check: within 60
// check: run WEFT_MAXPROCS=1 WEFT_PREEMPT=off --column
// check: exit 0
// check: within 60
// check: run WEFT_MAXPROCS=4 WEFT_SLICE=1 --column
// check: exit 0
// check: within 60
// check: run --blind
// check: exit 1,SIGSEGV
// check: within 60
// check: run WEFT_MAXPROCS=2
// check: stdout ^the middle stop: [0-9.]+ ms without preemption, [0-9.]+ ms with it$
// check: not-stdout failed
// check: within 120
int main(int count, char** arguments) {
  const std::string what = count > 1 ? arguments[1] : "";
  if (what == "--column") return column(false, 4);
  if (what == "--blind") return column(true, 4);
  const auto off = run_column(arguments[0], "off"), on = run_column(arguments[0], "on");
  std::printf("times in ms, heap in MB\n%-36s  %s\n", "          preemption off", "          preemption on");
  const char* head = "     stop   collect before   after";
  std::printf("%-36s  %s\n", head, head);
  for (std::size_t i = 0; i < std::max(off.size(), on.size()); ++i)
    std::printf("%-36s  %s\n", i < off.size() ? off[i].c_str() : "", i < on.size() ? on[i].c_str() : "");
  const double slow = middle_stop(off), fast = middle_stop(on);
  std::printf("the middle stop: %.1f ms without preemption, %.3f ms with it%s\n", slow, fast,
              slow > fast ? "" : ": something is wrong");
  return slow > fast ? 0 : 1;
}
