// SPDX-License-Identifier: MIT
// Looking names up: the C library asks its servers by calls that nobody can step into, so the whole is handed off.
#include "posix/goroutine_call.h"

namespace weft::posix {
namespace {

// With h_errno, which belongs to the thread as errno does.
template <class Result, class Call>
Result hand_off_lookup(Call call) noexcept {
  const api::ErrnoPlace place;
  Result result{};
  int found_by = 0;
  const std::int64_t error = hand_off([&] {
    const int before = errno;
    errno = 0;
    result = call();
    found_by = h_errno;
    if (errno != 0) return -1;
    errno = before;
    return 0;
  });
  if (error < 0) place.fail(static_cast<int>(-error));
  [&]() __attribute__((noinline)) { h_errno = found_by; }();
  return result;
}

}  // namespace
}  // namespace weft::posix

using namespace weft;
using namespace weft::posix;

WEFT_POSIX int getaddrinfo(const char* node, const char* service, const addrinfo* hints, addrinfo** found) {
  if (WEFT_POSIX_PLAIN) return real().getaddrinfo(node, service, hints, found);
  return hand_off_lookup<int>([=] { return real().getaddrinfo(node, service, hints, found); });
}

WEFT_POSIX int getnameinfo(const sockaddr* address, socklen_t length, char* host, socklen_t host_room, char* service,
                           socklen_t service_room, int flags) {
  if (WEFT_POSIX_PLAIN) return real().getnameinfo(address, length, host, host_room, service, service_room, flags);
  return hand_off_lookup<int>(
      [=] { return real().getnameinfo(address, length, host, host_room, service, service_room, flags); });
}

WEFT_POSIX hostent* gethostbyname(const char* name) {
  if (WEFT_POSIX_PLAIN) return real().gethostbyname(name);
  return hand_off_lookup<hostent*>([=] { return real().gethostbyname(name); });
}

WEFT_POSIX hostent* gethostbyname2(const char* name, int family) {
  if (WEFT_POSIX_PLAIN) return real().gethostbyname2(name, family);
  return hand_off_lookup<hostent*>([=] { return real().gethostbyname2(name, family); });
}

WEFT_POSIX hostent* gethostbyaddr(const void* address, socklen_t length, int family) {
  if (WEFT_POSIX_PLAIN) return real().gethostbyaddr(address, length, family);
  return hand_off_lookup<hostent*>([=] { return real().gethostbyaddr(address, length, family); });
}

WEFT_POSIX int gethostbyname_r(const char* name, hostent* entry, char* buffer, size_t room, hostent** found, int* error) {
  if (WEFT_POSIX_PLAIN) return real().gethostbyname_r(name, entry, buffer, room, found, error);
  return hand_off_lookup<int>([=] { return real().gethostbyname_r(name, entry, buffer, room, found, error); });
}

WEFT_POSIX int gethostbyname2_r(const char* name, int family, hostent* entry, char* buffer, size_t room, hostent** found,
                                int* error) {
  if (WEFT_POSIX_PLAIN) return real().gethostbyname2_r(name, family, entry, buffer, room, found, error);
  return hand_off_lookup<int>([=] { return real().gethostbyname2_r(name, family, entry, buffer, room, found, error); });
}

WEFT_POSIX int gethostbyaddr_r(const void* address, socklen_t length, int family, hostent* entry, char* buffer,
                               size_t room, hostent** found, int* error) {
  if (WEFT_POSIX_PLAIN) return real().gethostbyaddr_r(address, length, family, entry, buffer, room, found, error);
  return hand_off_lookup<int>(
      [=] { return real().gethostbyaddr_r(address, length, family, entry, buffer, room, found, error); });
}
