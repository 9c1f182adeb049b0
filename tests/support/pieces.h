// SPDX-License-Identifier: MIT
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

// A stream comes in pieces that nobody chose: what a parser says must not depend on where it was cut.
namespace weft::test {

using Cuts = std::vector<std::size_t>;  // where the next piece begins, in order

// Calls feed(piece) for each of them.
template <class Feed>
void feed_in_pieces(std::string_view input, const Cuts& cuts, Feed feed) {
  std::size_t at = 0;
  for (const std::size_t cut : cuts) {
    feed(input.substr(at, cut - at));
    at = cut;
  }
  feed(input.substr(at));
}

// Calls visit(cuts): byte by byte, cut once at each of the first places, and a few times at random.
template <class Visit>
void some_cuttings(std::string_view input, Visit visit) {
  Cuts cuts;
  for (std::size_t i = 1; i < input.size(); ++i) cuts.push_back(i);
  visit(cuts);
  for (std::size_t cut = 1; cut < std::min<std::size_t>(input.size(), 200); ++cut) visit(Cuts{cut});
  std::uint32_t seed = static_cast<std::uint32_t>(input.size()) * 2654435761u;
  for (int round = 0; round < 4; ++round) {
    cuts.clear();
    for (std::size_t at = 0; at < input.size();) {
      at += 1 + ((seed = seed * 1664525 + 1013904223) >> 16) % 23;
      if (at < input.size()) cuts.push_back(at);
    }
    visit(cuts);
  }
}

// The same, and cut at any two places (of long inputs: at about a hundred).
template <class Visit>
void all_cuttings(std::string_view input, Visit visit) {
  some_cuttings(input, visit);
  const std::size_t step = input.size() > 200 ? input.size() / 100 : 1;
  for (std::size_t i = 0; i < input.size(); i += step)
    for (std::size_t j = i; j < input.size(); j += step) visit(Cuts{i, j});
}

}  // namespace weft::test
