// SPDX-License-Identifier: MIT
#include <netdb.h>
#include <netinet/in.h>
#include <memory>

#include "api/address_error.h"
#include "api/socket.h"
#include "api/start.h"
#include "os/clock.h"
#include "weft/chan.h"
#include "weft/go.h"
#include "weft/select.h"
#include "weft/semaphore.h"

// Names.
//   Chosen    getaddrinfo by hand-off: the system's own answer, with hosts file, nsswitch modules and search domains.
//             c-ares asks DNS servers only, which is another answer on many machines (docs/decisions/0004).
//   Cost      A thread for each look-up under way, 32 at most; more look-ups wait their turn as goroutines.
//   Leaving   getaddrinfo cannot be interrupted. A caller that gives up leaves its look-up behind; the result is
//             dropped.
namespace weft::net {
namespace {

constexpr std::ptrdiff_t kLookupsAtOnce = 32;

class resolver_category : public std::error_category {
 public:
  const char* name() const noexcept override { return "resolver"; }
  std::string message(int value) const override { return gai_strerror(value); }
  std::error_condition default_error_condition(int value) const noexcept override {
    switch (value) {
      case EAI_AGAIN:  return std::errc::resource_unavailable_try_again;
      case EAI_MEMORY: return std::errc::not_enough_memory;
      default:         return {value, *this};
    }
  }
};
const resolver_category& resolver() {
  static const resolver_category category;
  return category;
}

struct Answer {
  std::vector<address> addresses;
  std::error_code error;
};

Answer ask_system(const std::string& host, const std::string& port, const addrinfo& hints) {
  Answer answer;
  addrinfo* list = nullptr;
  int number = 0;
  const int failure = blocking([&] {
    const int result =
        getaddrinfo(host.empty() ? nullptr : host.c_str(), port.empty() ? nullptr : port.c_str(), &hints, &list);
    number = errno;
    return result;
  });
  if (failure != 0) {
    answer.error = failure == EAI_SYSTEM ? error_from(number) : std::error_code(failure, resolver());
    return answer;
  }
  for (const addrinfo* each = list; each != nullptr; each = each->ai_next)
    if (each->ai_addrlen <= sizeof(sockaddr_storage)) answer.addresses.emplace_back(each->ai_addr, each->ai_addrlen);
  freeaddrinfo(list);
  if (answer.addresses.empty()) answer.error = {EAI_NONAME, resolver()};
  return answer;
}

std::vector<address> ask(std::string host, std::string port, const addrinfo& hints, const context& ctx,
                         std::int64_t deadline_ns, std::error_code& error) {
  static counting_semaphore<> places(kLookupsAtOnce);
  api::ensure_started();
  chan<Answer> answers(1);
  go([answers, host = std::move(host), port = std::move(port), hints]() mutable {
    places.acquire();
    Answer answer = ask_system(host, port, hints);
    places.release();
    answers.send(std::move(answer));
  });
  std::vector<address> result;
  const auto take = [&](std::optional<Answer> answer) {
    result = std::move(answer->addresses);
    error = answer->error;
  };
  const auto cancelled = [&](std::optional<std::monostate>) { error = ctx.err(); };
  if (deadline_ns == os::kForever) {
    select(on_recv(answers, take), on_recv(ctx.done(), cancelled));
  } else {
    select(on_recv(answers, take), on_recv(ctx.done(), cancelled),
           on_deadline(time_point(std::chrono::nanoseconds(deadline_ns)), [&] { error = error_from(ETIMEDOUT); }));
  }
  return result;
}

}  // namespace

std::vector<address> resolve(const Network& network, std::string_view where, bool passive, const context& ctx,
                             std::int64_t deadline_ns, std::error_code& error) {
  error.clear();
  if (network.is_unix()) {
    address path;
    if (!unix_address(where, path)) {
      error = make_error(AddressError::kPath);
      return {};
    }
    return {path};
  }
  HostAndPort parts;
  error = split(where, parts);
  if (error) return {};
  addrinfo hints{};
  hints.ai_family = network.family;
  hints.ai_socktype = network.type;
  hints.ai_flags = AI_NUMERICHOST | (passive ? AI_PASSIVE : 0) | (parts.is_number ? AI_NUMERICSERV : 0);
  // What needs no look-up is answered here; a name fails at once. To listen on every interface: the address for both
  // families comes first.
  if (passive && parts.host.empty() && network.family == AF_UNSPEC) {
    std::vector<address> both;
    for (const int family : {AF_INET6, AF_INET}) {
      hints.ai_family = family;
      const Answer answer = ask_system(parts.host, parts.port, hints);
      error = answer.error;
      both.insert(both.end(), answer.addresses.begin(), answer.addresses.end());
    }
    if (!both.empty()) error.clear();
    return both;
  }
  if (const Answer answer = ask_system(parts.host, parts.port, hints); !answer.error) return answer.addresses;
  hints.ai_flags = (hints.ai_flags & ~AI_NUMERICHOST) | AI_ADDRCONFIG;
  return ask(parts.host, parts.port, hints, ctx, deadline_ns, error);
}

std::vector<address> lookup_host(const context& ctx, std::string_view name, std::error_code& error) {
  error.clear();
  if (name.empty() || name.find('\0') != std::string_view::npos) {
    error = make_error(AddressError::kName);
    return {};
  }
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;  // otherwise each address comes once for each type
  return ask(std::string(name), {}, hints, ctx, os::kForever, error);
}
std::vector<address> lookup_host(std::string_view name, std::error_code& error) {
  return lookup_host(context::background(), name, error);
}
std::vector<address> lookup_host(std::string_view name) {
  std::error_code error;
  std::vector<address> result = lookup_host(name, error);
  if (error) detail::throw_io_error(error, ("lookup_host " + std::string(name)).c_str());
  return result;
}

}  // namespace weft::net
