// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

#include "trace/lane.h"

// A generation that no thread writes any more: the threads' batches, in the buffers they were written to, and its
// tables. It is written to the file from there, or copied into a string.
namespace weft::trace {

class FinishedGeneration {
 public:
  FinishedGeneration() = default;
  ~FinishedGeneration() { let_go(); }
  FinishedGeneration(FinishedGeneration&& other) noexcept;
  FinishedGeneration& operator=(FinishedGeneration&&) = delete;

  // A thread's buffers, in their order; empty ones are left out.
  void add(Buffer* first, std::uint64_t generation, std::uint64_t thread);
  std::string& tables() noexcept { return tables_; }

  std::size_t size() const noexcept { return size_ + tables_.size(); }
  int write_to(int fd) const noexcept;  // 0, or an errno
  std::string text() const;

  // The buffers go back to the recorder; what they hold is kept as text.
  void copy_and_let_go();

 private:
  void let_go() noexcept;

  Buffer* first_ = nullptr;
  Buffer* last_ = nullptr;
  std::size_t count_ = 0, size_ = 0;  // the number of buffers; the bytes in them
  std::string tables_;                // and the other batches of no thread
};

}  // namespace weft::trace
