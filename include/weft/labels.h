// SPDX-License-Identifier: MIT
#pragma once
#include <initializer_list>
#include <string_view>
#include <utility>

// What a goroutine works on, for profiles, dumps and traces.
namespace weft {

namespace detail {
struct label_set;
}

// Names the work that the goroutine (or plain thread) does from here to the end of the scope: labels{{"user", name}}.
// Scopes nest: an inner one adds its labels, or gives new values to old keys. A goroutine starts with the labels of the
// one that started it. Profiles, dumps and traces show them.
struct labels {
  labels(std::initializer_list<std::pair<std::string_view, std::string_view>> pairs);
  ~labels();
  labels(const labels&) = delete;
  labels& operator=(const labels&) = delete;

 private:
  const detail::label_set* outer_;
};

}  // namespace weft
