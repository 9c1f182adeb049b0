// SPDX-License-Identifier: MIT
#include "trace/finished_generation.h"

#include <sys/uio.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "trace/recorder.h"

namespace weft::trace {
namespace {

// Puts the header right before the data, so that both are written as one piece.
void put_header(Buffer& buffer, std::uint64_t generation, std::uint64_t thread) noexcept {
  unsigned char bytes[1 + 4 * format::kMaxVarint];
  unsigned char* end = bytes;
  *end++ = static_cast<unsigned char>(format::Event::kEventBatch);
  for (std::uint64_t number : {generation, thread, buffer.time, std::uint64_t{buffer.used}})
    end = format::put_varint(end, number);
  static_assert(sizeof bytes <= Buffer::kHeaderRoom);
  buffer.header = static_cast<std::uint32_t>(end - bytes);
  std::memcpy(buffer.data - buffer.header, bytes, buffer.header);
}

int write_all(int fd, iovec* pieces, int count) noexcept {
  while (count > 0) {
    const ssize_t result = ::writev(fd, pieces, count);
    if (result < 0 && errno == EINTR) continue;
    if (result <= 0) return result == 0 ? EIO : errno;
    auto written = static_cast<std::size_t>(result);
    while (count > 0 && written >= pieces->iov_len) {
      written -= pieces->iov_len;
      ++pieces;
      --count;
    }
    if (count > 0) {
      pieces->iov_base = static_cast<char*>(pieces->iov_base) + written;
      pieces->iov_len -= written;
    }
  }
  return 0;
}

iovec piece_of(Buffer& buffer) noexcept { return {buffer.data - buffer.header, buffer.header + buffer.used}; }

}  // namespace

FinishedGeneration::FinishedGeneration(FinishedGeneration&& other) noexcept
    : first_(std::exchange(other.first_, nullptr)),
      last_(std::exchange(other.last_, nullptr)),
      count_(std::exchange(other.count_, 0)),
      size_(std::exchange(other.size_, 0)),
      tables_(std::move(other.tables_)) {}

void FinishedGeneration::add(Buffer* first, std::uint64_t generation, std::uint64_t thread) {
  while (first != nullptr) {
    Buffer* buffer = std::exchange(first, first->next);
    buffer->next = nullptr;
    if (buffer->used == 0) {
      recorder.give_buffers(buffer, buffer, 1);
      continue;
    }
    put_header(*buffer, generation, thread);
    size_ += buffer->header + buffer->used;
    (last_ != nullptr ? last_->next : first_) = buffer;
    last_ = buffer;
    ++count_;
  }
}

int FinishedGeneration::write_to(int fd) const noexcept {
  constexpr int kPieces = 64;
  iovec pieces[kPieces];
  int count = 0;
  for (Buffer* buffer = first_; buffer != nullptr; buffer = buffer->next) {
    pieces[count++] = piece_of(*buffer);
    if (count < kPieces) continue;
    if (const int error = write_all(fd, pieces, std::exchange(count, 0)); error != 0) return error;
  }
  if (const int error = write_all(fd, pieces, count); error != 0) return error;
  iovec rest{const_cast<char*>(tables_.data()), tables_.size()};
  return tables_.empty() ? 0 : write_all(fd, &rest, 1);
}

std::string FinishedGeneration::text() const {
  std::string out;
  out.reserve(size());
  for (Buffer* buffer = first_; buffer != nullptr; buffer = buffer->next) {
    const iovec piece = piece_of(*buffer);
    out.append(static_cast<const char*>(piece.iov_base), piece.iov_len);
  }
  return out += tables_;
}

void FinishedGeneration::copy_and_let_go() {
  tables_ = text();
  let_go();
}

void FinishedGeneration::let_go() noexcept {
  if (first_ != nullptr) recorder.give_buffers(first_, last_, count_);
  first_ = last_ = nullptr;
  count_ = size_ = 0;
}

}  // namespace weft::trace
