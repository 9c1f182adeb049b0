// SPDX-License-Identifier: MIT
#include <algorithm>
#include <list>
#include <map>
#include <memory>
#include <queue>
#include <string>
#include <unordered_map>
#include <vector>

#include "kernel.h"

namespace {

struct Node {
  std::unique_ptr<Node> left, right;
};
std::unique_ptr<Node> tree_of(int depth) {
  auto node = std::make_unique<Node>();
  if (depth > 0) node->left = tree_of(depth - 1), node->right = tree_of(depth - 1);
  return node;
}
std::uint64_t count(const Node* node) {
  return node == nullptr ? 0 : 1 + count(node->left.get()) + count(node->right.get());
}

}  // namespace

WEFT_KERNEL(sort_lambda) {
  std::vector<std::uint64_t> values(200000);
  Random random;
  for (std::uint64_t& value : values) value = random.next();
  std::sort(values.begin(), values.end(), [](std::uint64_t a, std::uint64_t b) { return a > b; });
  return mix(values[1000], values[100000]);
}

WEFT_KERNEL(sort_strings) {
  std::vector<std::string> values;
  Random random;
  for (int i = 0; i < 40000; ++i) values.push_back("key " + std::to_string(random.next() % 100000));
  std::sort(values.begin(), values.end());
  return mix(values[100].size(), static_cast<std::uint64_t>(values[20000].back()));
}

WEFT_KERNEL(hash_map) {
  std::unordered_map<std::uint64_t, std::uint64_t> map;
  Random random;
  std::uint64_t hash = 0;
  for (int i = 0; i < 150000; ++i) hash = mix(hash, ++map[random.next() % 30000]);
  return hash;
}

WEFT_KERNEL(tree_map) {
  std::map<std::uint64_t, std::uint64_t> map;
  Random random;
  for (std::uint64_t i = 0; i < 60000; ++i) map[random.next() % 30000] += i;
  std::uint64_t hash = 0;
  for (const auto& [key, value] : map) hash = mix(mix(hash, key), value);
  return hash;
}

WEFT_KERNEL(priority_queue) {
  std::priority_queue<std::uint64_t> queue;
  Random random;
  std::uint64_t hash = 0;
  for (int i = 0; i < 150000; ++i) {
    queue.push(random.next() % 1000000);
    if (queue.size() > 1000) hash = mix(hash, queue.top()), queue.pop();
  }
  return hash;
}

WEFT_KERNEL(binary_trees) {
  std::uint64_t total = 0;
  for (int i = 0; i < 12; ++i) total += count(tree_of(12).get());
  return total;
}

WEFT_KERNEL(linked_list) {
  std::list<std::uint64_t> list;
  for (std::uint64_t i = 0; i < 20000; ++i) i % 3 == 0 ? list.push_front(i) : list.push_back(i);
  std::uint64_t hash = 0;
  for (int round = 0; round < 40; ++round) {
    for (std::uint64_t value : list) hash = mix(hash, value);
    list.splice(list.end(), list, list.begin());
  }
  return hash;
}

WEFT_KERNEL(dijkstra) {
  constexpr std::size_t kSide = 200;
  std::vector<std::uint32_t> weight(kSide * kSide), distance(kSide * kSide, ~0u);
  Random random;
  for (std::uint32_t& value : weight) value = static_cast<std::uint32_t>(random.next() % 9 + 1);
  using Entry = std::pair<std::uint32_t, std::size_t>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
  queue.push({distance[0] = 0, 0});
  while (!queue.empty()) {
    const auto [far, at] = queue.top();
    queue.pop();
    if (far != distance[at]) continue;
    const auto visit = [&](std::size_t next) {
      if (far + weight[next] < distance[next]) queue.push({distance[next] = far + weight[next], next});
    };
    if (at % kSide != 0) visit(at - 1);
    if (at % kSide != kSide - 1) visit(at + 1);
    if (at >= kSide) visit(at - kSide);
    if (at + kSide < distance.size()) visit(at + kSide);
  }
  return mix(distance[kSide], std::uint64_t{distance.back()});
}
