// SPDX-License-Identifier: MIT
#include "insight/site.h"

#include "insight/live_data.h"
#include "insight/metrics.h"
#include "insight/page.h"
#include "insight/pprof_pages.h"

namespace weft::insight {
namespace {

bool is_this_machine(std::string_view host) {
  const std::size_t colon = host.rfind(':');
  if (colon != std::string_view::npos && host.find(']', colon) == std::string_view::npos) host = host.substr(0, colon);
  return host.empty() || host == "localhost" || host == "[::1]" ||
         (host.starts_with("127.") && host.find_first_not_of("0123456789.") == std::string_view::npos);
}

// Takes as long for a wrong token as for the right one.
bool is_equal(std::string_view one, std::string_view other) {
  unsigned difference = one.size() != other.size() ? 1 : 0;
  for (std::size_t i = 0; i < one.size() && i < other.size(); ++i)
    difference |= static_cast<unsigned char>(one[i]) ^ static_cast<unsigned char>(other[i]);
  return difference == 0;
}

Response refusal(const std::string& token, const Request& request) {
  if (token.empty()) {
    if (is_this_machine(request.header("host"))) return {};
    return {403, "text/plain; charset=utf-8", "ask for this server as localhost or 127.0.0.1\n"};
  }
  std::string_view given = request.parameter("token");
  const std::string_view header = request.header("authorization");
  if (header.starts_with("Bearer ")) given = header.substr(7);
  if (is_equal(given, token)) return {};
  return {401, "text/plain; charset=utf-8", "a token is needed: ?token=... or Authorization: Bearer ...\n"};
}

Response metrics(const Request& request) {
  const bool openmetrics = request.header("accept").find("application/openmetrics-text") != std::string_view::npos;
  return {200,
          openmetrics ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
                      : "text/plain; version=0.0.4; charset=utf-8",
          metrics_text(openmetrics)};
}

Response answer(const Request& request) {
  if (request.path == "/") return {200, "text/html; charset=utf-8", std::string(page_html())};
  if (request.path == "/metrics") return metrics(request);
  if (request.path == "/data") return {200, "application/json", live_data()};
  if (request.path.starts_with("/debug/pprof")) return pprof_page(request);
  return {404, "text/plain; charset=utf-8", "no such page; there are /, /metrics and /debug/pprof/\n"};
}

}  // namespace

Site make_site(std::string token) {
  return {[](const Request& request) { return request.path.starts_with("/debug/pprof/") && request.path.size() > 13; },
          answer, [token = std::move(token)](const Request& request) { return refusal(token, request); }};
}

}  // namespace weft::insight
