// SPDX-License-Identifier: MIT
#include "weft/detail/io_handle.h"

#include <stdexcept>
#include <string>

#include "api/address_error.h"
#include "service/netpoll.h"

namespace weft::detail {
namespace {
service::Descriptor& of(void* descriptor) { return *static_cast<service::Descriptor*>(descriptor); }
}  // namespace

void io_handle::reset() noexcept {
  if (descriptor_ != nullptr) service::netpoll().destroy(of(std::exchange(descriptor_, nullptr)));
}

void io_handle::close() noexcept {
  if (descriptor_ != nullptr) of(descriptor_).close();
}

int io_handle::release() noexcept { return descriptor_ != nullptr ? of(descriptor_).release() : -1; }

int io_handle::number() const noexcept { return is_open() ? of(descriptor_).fd() : -1; }

bool io_handle::is_open() const noexcept { return descriptor_ != nullptr && !of(descriptor_).is_closed(); }

void io_handle::set_deadline(bool reading, bool writing, time_point when) noexcept {
  if (descriptor_ == nullptr) return;
  const std::int64_t ns = deadline_at(when);
  if (reading) of(descriptor_).set_deadline(service::Side::kRead, ns);
  if (writing) of(descriptor_).set_deadline(service::Side::kWrite, ns);
}

void throw_io_error(std::error_code error, const char* what) {
  std::string text = std::string("weft: ") + what;
  if (error.category() == net::address_category()) throw std::invalid_argument(text + ": " + error.message());
  if (error == std::errc::bad_file_descriptor) text += ": use of closed connection";
  throw std::system_error(error, text);
}

}  // namespace weft::detail
