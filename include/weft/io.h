// SPDX-License-Identifier: MIT
#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "weft/chan.h"
#include "weft/detail/bytes.h"
#include "weft/detail/clock.h"
#include "weft/detail/deadline.h"
#include "weft/detail/io_handle.h"

// Files, foreign descriptors, signals and child processes: none of the calls here stalls other goroutines.
namespace weft::io {

// Blocks until the descriptor can be read from (or written to) without blocking, has an error, or was hung up. It may
// be of any kind that poll(2) knows, and stays the caller's. False: the deadline came first. There is no spurious
// return. Throws std::system_error if fd is not a descriptor.
bool wait_readable(int fd, time_point deadline = time_point::max());
bool wait_writable(int fd, time_point deadline = time_point::max());

enum class mode : unsigned {
  read = 1,        // must exist
  write = 2,       // created if need be, emptied
  append = 4,      // created if need be, written at its end
  read_write = 8,  // created if need be, not emptied
  exclusive = 16,  // with one of the last three: the file must not exist yet
};
constexpr mode operator|(mode one, mode other) {
  return static_cast<mode>(static_cast<unsigned>(one) | static_cast<unsigned>(other));
}
constexpr bool operator&(mode one, mode other) {
  return (static_cast<unsigned>(one) & static_cast<unsigned>(other)) != 0;
}

// A file. Its calls may block the thread, but never a P. Move-only; closed when dropped. Calls may run at the same
// time, except close(). Calls without an error_code throw std::system_error.
class file {
 public:
  file() noexcept = default;
  explicit file(int fd) noexcept : fd_(fd) {}  // takes over the descriptor
  file(file&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  file& operator=(file&& other) noexcept {
    if (this != &other) {
      close();
      fd_ = std::exchange(other.fd_, -1);
    }
    return *this;
  }
  ~file() { close(); }

  // Returns the number of bytes read; 0 at the end of the file (or for an empty buffer).
  std::size_t read(detail::bytes_to_fill buffer, std::error_code& error);
  std::size_t read(detail::bytes_to_fill buffer);
  std::size_t read_at(std::uint64_t offset, detail::bytes_to_fill buffer, std::error_code& error);
  std::size_t read_at(std::uint64_t offset, detail::bytes_to_fill buffer);
  std::size_t read_at(detail::bytes_to_fill buffer, std::uint64_t offset) { return read_at(offset, buffer); }
  // Writes all of the data, unless there is an error. Returns the number of bytes written.
  std::size_t write(detail::bytes_to_write data, std::error_code& error);
  std::size_t write(detail::bytes_to_write data);
  std::size_t write_at(std::uint64_t offset, detail::bytes_to_write data, std::error_code& error);
  std::size_t write_at(std::uint64_t offset, detail::bytes_to_write data);
  std::size_t write_at(detail::bytes_to_write data, std::uint64_t offset) { return write_at(offset, data); }
  void sync();
  std::uint64_t size() const;
  void truncate(std::uint64_t bytes);

  void close() noexcept;
  bool is_open() const noexcept { return fd_ >= 0; }
  explicit operator bool() const noexcept { return is_open(); }
  int native_handle() const noexcept { return fd_; }
  int release() noexcept { return std::exchange(fd_, -1); }

 private:
  int fd_ = -1;
};

file open(const std::string& path, mode how = mode::read, unsigned permissions = 0666);
file open(const std::string& path, mode how, unsigned permissions, std::error_code& error);

// A channel of these signals, as they arrive. Up to 64 wait for a slow receiver; more are dropped. The default action
// of a signal does not happen until stop_signals() has been called for each of its channels. stop_signals() closes the
// channel. Throws std::invalid_argument for a signal that cannot be received.
chan<int> signals(std::initializer_list<int> numbers);
void stop_signals(const chan<int>& channel);

// A child process. Move-only; dropping it neither waits for nor ends the child.
class process {
 public:
  process() noexcept = default;
  explicit process(int pid) noexcept : pid_(pid) {}  // a child of this process that has not been waited for
  process(process&& other) noexcept
      : pid_(std::exchange(other.pid_, -1)), status_(std::exchange(other.status_, std::nullopt)) {}
  process& operator=(process&& other) noexcept {
    pid_ = std::exchange(other.pid_, -1);
    status_ = std::exchange(other.status_, std::nullopt);
    return *this;
  }

  int pid() const noexcept { return pid_; }
  // Blocks until the child has ended. Returns its exit status, or 128 + the signal that ended it.
  int wait();
  // Nullopt: the child still runs at the deadline.
  std::optional<int> wait_until(time_point deadline);
  template <class Clock, class Duration>
  std::optional<int> wait_until(std::chrono::time_point<Clock, Duration> limit) {
    std::optional<int> status;
    detail::wait_by_clock(limit, [&](std::int64_t deadline_ns) {
      status = wait_until(deadline_ns == detail::forever ? time_point::max()
                                                         : time_point(std::chrono::nanoseconds(deadline_ns)));
      return status.has_value();
    });
    return status;
  }
  // Does nothing if the child has been waited for, because another process may have its number by now.
  void kill(int signal);

 private:
  int pid_ = -1;
  std::optional<int> status_;
};

struct process_options {
  int in = 0, out = 1, err = 2;  // descriptors that become the child's standard ones
};
// Starts a child process. arguments[0] is looked up in PATH. Throws std::system_error if it cannot be started.
process start(const std::vector<std::string>& arguments, const process_options& options = {});

}  // namespace weft::io
