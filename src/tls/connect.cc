// SPDX-License-Identifier: MIT
#include <stdexcept>
#include <string>
#include <utility>

#include "tls/credentials.h"
#include "tls/engine.h"
#include "weft/detail/io_handle.h"
#include "weft/tls.h"

// Listening and dialling.
namespace weft::tls {

struct conn_access {
  static conn make(std::unique_ptr<Engine> engine) { return conn(std::move(engine)); }
};

listener::listener(net::listener&& transport, const config& settings)
    : credentials_(Credentials::of(settings, role::server)) {
  transport_ = std::move(transport);
}

conn listener::secure(net::conn&& accepted) {
  return conn_access::make(std::make_unique<Engine>(std::move(accepted), credentials_, role::server, "", ""));
}

conn listener::accept() { return secure(transport_.accept()); }
conn listener::accept(const context& ctx) { return secure(transport_.accept(ctx)); }
conn listener::accept(std::error_code& error) {
  net::conn accepted = transport_.accept(error);
  return error ? conn() : secure(std::move(accepted));
}
conn listener::accept(const context& ctx, std::error_code& error) {
  net::conn accepted = transport_.accept(ctx, error);
  return error ? conn() : secure(std::move(accepted));
}

listener listen(std::string_view network, std::string_view where, const config& settings,
                const net::listen_options& options) {
  return listener(net::listen(network, where, options), settings);
}

namespace {

// The host of "host:port" or "[host]:port".
std::string host_of(std::string_view network, std::string_view where) {
  if (network.starts_with("unix")) return {};
  where = where.substr(0, where.rfind(':'));
  if (where.starts_with('[') && where.ends_with(']')) where = where.substr(1, where.size() - 2);
  return std::string(where.substr(0, where.find('%')));
}

time_point deadline_after(std::chrono::nanoseconds limit) {
  const std::int64_t ns = detail::deadline_in(limit);
  return ns == detail::forever ? time_point::max() : time_point(std::chrono::nanoseconds(ns));
}

}  // namespace

conn dial(const context& ctx, std::string_view network, std::string_view where, const config& settings,
          const net::dial_options& options, std::error_code& error) {
  const std::string name = settings.server_name.empty() ? host_of(network, where) : settings.server_name;
  if (settings.verify && name.empty())
    throw std::invalid_argument("weft: tls::dial: the address names no host, so server_name must be set in the config");
  const time_point deadline = deadline_after(options.timeout);
  auto credentials = Credentials::of(settings, role::client);
  net::conn transport = net::dial(ctx, network, where, options, error);
  if (error) return {};
  transport.set_deadline(deadline);
  auto engine = std::make_unique<Engine>(std::move(transport), std::move(credentials), role::client, name,
                                         name + '\0' + std::string(where));
  if (!engine->shake_hands(&ctx, error)) return {};
  engine->transport().set_deadline(time_point::max());
  return conn_access::make(std::move(engine));
}

conn dial(const context& ctx, std::string_view network, std::string_view where, const config& settings,
          const net::dial_options& options) {
  std::error_code error;
  conn made = dial(ctx, network, where, settings, options, error);
  if (error) detail::throw_io_error(error, ("tls::dial " + std::string(where)).c_str());
  return made;
}
conn dial(std::string_view network, std::string_view where, const config& settings, const net::dial_options& options) {
  return dial(context::background(), network, where, settings, options);
}
conn dial(std::string_view network, std::string_view where, const config& settings, std::error_code& error) {
  return dial(context::background(), network, where, settings, {}, error);
}

}  // namespace weft::tls
