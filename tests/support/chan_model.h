// SPDX-License-Identifier: MIT
#pragma once
#include <algorithm>
#include <cstddef>
#include <deque>
#include <map>
#include <optional>
#include <vector>

// What channels and select mean, one operation at a time: Go's rules as data. Clients are numbered; one that must wait is queued at
// each channel of its cases and completed by whoever comes after. Which of several ready cases runs is not decided here: the
// implementation says which one it took, and the model whether it could, and what follows.
namespace weft::test {

struct ModelCase {
  std::size_t channel;
  bool is_send;
  int value;  // of a send
};

// How an operation ended.
struct Outcome {
  enum Kind { kSent, kReceived, kClosed } kind;  // kClosed: a receive found it closed and drained, a send threw
  std::size_t index = 0;                         // of the case
  int value = 0;                                 // received
  friend bool operator==(const Outcome&, const Outcome&) = default;
};

class ChanModel {
 public:
  using Completed = std::map<int, Outcome>;  // by client

  // nullopt: nil.
  std::size_t add(std::optional<std::size_t> capacity) {
    channels_.push_back({.is_nil = !capacity, .capacity = capacity.value_or(0)});
    return channels_.size() - 1;
  }
  void replace(std::size_t channel, std::size_t capacity) {
    channels_[channel] = {.is_nil = false, .capacity = capacity};
  }

  bool is_closed(std::size_t channel) const { return channels_[channel].closed; }
  bool is_nil(std::size_t channel) const { return channels_[channel].is_nil; }
  std::size_t size(std::size_t channel) const { return channels_[channel].buffer.size(); }
  bool has_waiters(std::size_t channel) const {
    return !channels_[channel].senders.empty() || !channels_[channel].receivers.empty();
  }
  bool is_waiting(int client) const { return waiting_.contains(client); }
  std::size_t waiting() const { return waiting_.size(); }

  // The cases that could run now.
  std::vector<std::size_t> ready(const std::vector<ModelCase>& cases) const {
    std::vector<std::size_t> indices;
    for (std::size_t i = 0; i < cases.size(); ++i) {
      const Channel& c = channels_[cases[i].channel];
      if (c.is_nil) continue;
      const bool room = !c.receivers.empty() || c.buffer.size() < c.capacity;
      const bool content = !c.senders.empty() || !c.buffer.empty();
      if (c.closed || (cases[i].is_send ? room : content)) indices.push_back(i);
    }
    return indices;
  }

  // One of the ready cases runs: who is done now, the caller among them.
  Completed run(int client, const std::vector<ModelCase>& cases, std::size_t index) {
    Completed done;
    const ModelCase& one = cases[index];
    Channel& c = channels_[one.channel];
    if (one.is_send) {
      done[client] = {c.closed ? Outcome::kClosed : Outcome::kSent, index, 0};
      if (c.closed) return done;
      if (!c.receivers.empty()) {
        complete(c.receivers.front(), Outcome::kReceived, one.value, done);
      } else {
        c.buffer.push_back(one.value);
      }
      return done;
    }
    if (!c.buffer.empty()) {
      done[client] = {Outcome::kReceived, index, c.buffer.front()};
      c.buffer.pop_front();
      if (!c.senders.empty()) {
        c.buffer.push_back(c.senders.front().value);
        complete(c.senders.front(), Outcome::kSent, 0, done);
      }
    } else if (!c.senders.empty()) {
      done[client] = {Outcome::kReceived, index, c.senders.front().value};
      complete(c.senders.front(), Outcome::kSent, 0, done);
    } else {
      done[client] = {Outcome::kClosed, index, 0};
    }
    return done;
  }

  // None is ready, and the client waits.
  void wait(int client, const std::vector<ModelCase>& cases) {
    waiting_[client] = true;
    for (std::size_t i = 0; i < cases.size(); ++i) {
      Channel& c = channels_[cases[i].channel];
      if (!c.is_nil) (cases[i].is_send ? c.senders : c.receivers).push_back({client, i, cases[i].value});
    }
  }

  Completed close(std::size_t channel) {
    Completed done;
    Channel& c = channels_[channel];
    c.closed = true;
    while (!c.receivers.empty()) complete(c.receivers.front(), Outcome::kClosed, 0, done);
    while (!c.senders.empty()) complete(c.senders.front(), Outcome::kClosed, 0, done);
    return done;
  }

 private:
  struct Ticket {
    int client;
    std::size_t index;
    int value;
  };
  struct Channel {
    bool is_nil = false;
    std::size_t capacity = 0;
    bool closed = false;
    std::deque<int> buffer{};
    std::deque<Ticket> senders{}, receivers{};
  };

  // By value: its own queue is among those it leaves.
  void complete(Ticket ticket, Outcome::Kind kind, int value, Completed& done) {
    done[ticket.client] = {kind, ticket.index, value};
    waiting_.erase(ticket.client);
    const auto is_its = [&](const Ticket& other) { return other.client == ticket.client; };
    for (Channel& c : channels_) {
      std::erase_if(c.senders, is_its);
      std::erase_if(c.receivers, is_its);
    }
  }

  std::vector<Channel> channels_;
  std::map<int, bool> waiting_;
};

}  // namespace weft::test
