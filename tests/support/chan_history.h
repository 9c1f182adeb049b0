// SPDX-License-Identifier: MIT
#pragma once
#include <algorithm>
#include <cstdint>
#include <string>
#include <unordered_set>
#include <vector>

// Is what many clients saw of one channel explained by some order of single steps, each between its call and its return? A search
// over all orders (Wing and Gong), which never looks twice at a state: what has been done by whom, and the channel then.
//   Steps    those of a bounded queue that can be closed. Without a buffer a send and a receive are one step of two clients, at a
//            moment when both are under way.
//   Waiting  an operation that would have blocked says something only of the buffer: who waits is not part of the state.
namespace weft::test {

struct Call {
  enum Kind {
    kSend,
    kReceive,
    kClose,
    kFull,
    kEmpty,
    kSendOnClosed,
    kReceiveClosed
  } kind;  // kFull, kEmpty: it would have blocked
  int value;
  std::uint64_t called, returned;
};

inline std::string to_string(const Call& call) {
  static constexpr const char* kNames[] = {"send",  "receive",        "close",          "full",
                                           "empty", "send on closed", "receive: closed"};
  return std::string(kNames[call.kind]) + " " + std::to_string(call.value) + " [" + std::to_string(call.called) + ", " +
         std::to_string(call.returned) + "]";
}

// Of one channel: for each client what it did, in its order.
struct History {
  std::size_t capacity = 0;
  std::vector<std::vector<Call>> clients;

  std::string text() const {
    std::string out = "capacity " + std::to_string(capacity) + "\n";
    for (std::size_t i = 0; i < clients.size(); ++i)
      for (const Call& call : clients[i]) out += "client " + std::to_string(i) + ": " + to_string(call) + "\n";
    return out;
  }
};

class HistoryChecker {
 public:
  enum class Verdict { kExplained, kImpossible, kTooHard };

  explicit HistoryChecker(const History& history) : history_(history), position_(history.clients.size(), 0) {}

  Verdict check(std::size_t most_states = 3'000'000) {
    most_states_ = most_states;
    const bool found = search();
    if (found) return Verdict::kExplained;
    return seen_.size() >= most_states_ ? Verdict::kTooHard : Verdict::kImpossible;
  }

 private:
  const Call* next(std::size_t client) const {
    const auto& calls = history_.clients[client];
    return position_[client] < calls.size() ? &calls[position_[client]] : nullptr;
  }

  bool search() {
    std::uint64_t first_return = UINT64_MAX;  // what was called after it comes after it
    bool is_over = true;
    for (std::size_t i = 0; i < position_.size(); ++i)
      if (const Call* call = next(i)) {
        first_return = std::min(first_return, call->returned);
        is_over = false;
      }
    if (is_over) return true;
    if (seen_.size() >= most_states_ || !seen_.insert(key()).second) return false;
    for (std::size_t i = 0; i < position_.size(); ++i) {
      const Call* call = next(i);
      if (call == nullptr || call->called > first_return) continue;
      if (try_alone(i, *call)) return true;
      if (call->kind == Call::kSend && history_.capacity == 0 && !closed_ && try_pair(i, *call, first_return))
        return true;
    }
    return false;
  }

  bool go_on(std::size_t client) {
    ++position_[client];
    const bool found = search();
    --position_[client];
    return found;
  }

  bool try_alone(std::size_t client, const Call& call) {
    bool found = false;
    switch (call.kind) {
      case Call::kSend:
        if (closed_ || buffer_.size() >= history_.capacity) return false;
        buffer_.push_back(call.value);
        found = go_on(client);
        buffer_.pop_back();
        return found;
      case Call::kReceive:
        if (buffer_.empty() || buffer_.front() != call.value) return false;
        buffer_.erase(buffer_.begin());
        found = go_on(client);
        buffer_.insert(buffer_.begin(), call.value);
        return found;
      case Call::kClose:
        if (closed_) return false;
        closed_ = true;
        found = go_on(client);
        closed_ = false;
        return found;
      case Call::kFull:          return !closed_ && buffer_.size() == history_.capacity && go_on(client);
      case Call::kEmpty:         return !closed_ && buffer_.empty() && go_on(client);
      case Call::kSendOnClosed:  return closed_ && go_on(client);
      case Call::kReceiveClosed: return closed_ && buffer_.empty() && go_on(client);
    }
    return false;
  }

  bool try_pair(std::size_t sender, const Call& send, std::uint64_t first_return) {
    for (std::size_t i = 0; i < position_.size(); ++i) {
      const Call* call = next(i);
      if (call == nullptr || call->kind != Call::kReceive || call->value != send.value || call->called > first_return)
        continue;
      ++position_[i];
      const bool found = go_on(sender);
      --position_[i];
      if (found) return true;
    }
    return false;
  }

  std::string key() const {
    std::string text(1, closed_ ? 'c' : 'o');
    for (std::size_t position : position_) text.push_back(static_cast<char>(position));
    for (int value : buffer_) text.append(reinterpret_cast<const char*>(&value), sizeof value);
    return text;
  }

  const History& history_;
  std::vector<std::size_t> position_;
  std::vector<int> buffer_;
  bool closed_ = false;
  std::unordered_set<std::string> seen_;
  std::size_t most_states_ = 0;
};

inline HistoryChecker::Verdict check(const History& history) { return HistoryChecker(history).check(); }

}  // namespace weft::test
