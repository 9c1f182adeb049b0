// SPDX-License-Identifier: MIT
#include "tls/credentials.h"

#include <openssl/err.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cerrno>
#include <stdexcept>
#include <utility>

#include "tls/engine.h"
#include "tls/error.h"
#include "weft/go.h"

namespace weft::tls {
namespace {

constexpr std::size_t kMostSessions = 1024, kMostCached = 32;

[[noreturn]] void refuse_file(const char* what, const std::string& path, std::error_code error) {
  throw std::system_error(error, std::string("weft: tls: ") + what + " '" + path + "'");
}

void need_file(const char* what, const std::string& path) {
  if (access(path.c_str(), R_OK) != 0) refuse_file(what, path, {errno, std::system_category()});
}

// The protocols as TLS writes them.
std::string wire_form(const std::vector<std::string>& protocols) {
  std::string wire;
  for (const std::string& each : protocols) {
    if (each.empty() || each.size() > 255)
      throw std::invalid_argument("weft: tls::config::alpn: a protocol has 1 to 255 bytes");
    wire += static_cast<char>(each.size());
    wire += each;
  }
  return wire;
}

// Equal texts: equal credentials, unless a file is changed within its clock's resolution and keeps its size.
std::string identity_of(const config& settings) {
  std::string text = std::to_string(settings.verify) + std::to_string(static_cast<int>(settings.min_version));
  for (const std::string* path : {&settings.ca_file, &settings.certificate, &settings.key}) {
    struct stat facts{};
    if (!path->empty()) stat(path->c_str(), &facts);
    text += '\0' + *path + '\0' + std::to_string(facts.st_ino) + ' ' + std::to_string(facts.st_size) + ' ' +
            std::to_string(facts.st_mtim.tv_sec) + '.' + std::to_string(facts.st_mtim.tv_nsec);
  }
  return text + '\0' + wire_form(settings.alpn);
}

}  // namespace

std::shared_ptr<Credentials> Credentials::of(const config& settings, role as) {
  if (as == role::server) return blocking([&] { return std::make_shared<Credentials>(settings, as); });
  static mutex lock("tls credentials");
  static std::map<std::string, std::shared_ptr<Credentials>> known;
  std::string identity = identity_of(settings);
  const std::lock_guard guard(lock);
  if (const auto found = known.find(identity); found != known.end()) return found->second;
  auto made = blocking([&] { return std::make_shared<Credentials>(settings, as); });
  if (known.size() >= kMostCached) known.erase(known.begin());
  return known[std::move(identity)] = std::move(made);
}

Credentials::Credentials(const config& settings, role as)
    : is_client_(as == role::client), verifies_(settings.verify), protocols_(wire_form(settings.alpn)) {
  const no_preempt on_one_thread;
  ERR_clear_error();
  context_ = SSL_CTX_new(is_client_ ? TLS_client_method() : TLS_server_method());
  if (context_ == nullptr) throw std::system_error(last_error(), "weft: tls: no memory for a context");
  try {
    SSL_CTX_set_min_proto_version(context_, static_cast<int>(settings.min_version));
    SSL_CTX_set_options(context_, SSL_OP_NO_RENEGOTIATION);
    SSL_CTX_set_mode(context_,
                     SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_RELEASE_BUFFERS);
    show_certificate(settings);
    trust(settings);
    if (is_client_) {
      SSL_CTX_set_session_cache_mode(context_, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
      SSL_CTX_sess_set_new_cb(context_, [](SSL* ssl, SSL_SESSION* session) { return Engine::keep(ssl, session); });
      if (!protocols_.empty())
        SSL_CTX_set_alpn_protos(context_, reinterpret_cast<const unsigned char*>(protocols_.data()),
                                static_cast<unsigned>(protocols_.size()));
    } else {
      SSL_CTX_set_session_id_context(context_, reinterpret_cast<const unsigned char*>("weft"), 4);
      if (!protocols_.empty()) SSL_CTX_set_alpn_select_cb(context_, &select_protocol, this);
    }
  } catch (...) {
    SSL_CTX_free(context_);
    throw;
  }
}

Credentials::~Credentials() {
  for (const auto& each : sessions_) SSL_SESSION_free(each.second);
  SSL_CTX_free(context_);
}

void Credentials::show_certificate(const config& settings) {
  if (settings.certificate.empty()) {
    if (is_client_ && settings.key.empty()) return;
    throw std::invalid_argument(is_client_ ? "weft: tls::config: there is a key, but no certificate"
                                           : "weft: tls: a server needs a certificate and its key in its config");
  }
  const std::string& key = settings.key.empty() ? settings.certificate : settings.key;
  need_file("cannot read the certificate", settings.certificate);
  need_file("cannot read the key", key);
  if (SSL_CTX_use_certificate_chain_file(context_, settings.certificate.c_str()) != 1)
    refuse_file("there is no usable PEM certificate in", settings.certificate, last_error());
  if (SSL_CTX_use_PrivateKey_file(context_, key.c_str(), SSL_FILETYPE_PEM) != 1 ||
      SSL_CTX_check_private_key(context_) != 1)
    refuse_file("there is no PEM key of the certificate in", key, last_error());
}

// A server with a ca_file demands certificates of its clients.
void Credentials::trust(const config& settings) {
  if (!settings.ca_file.empty()) {
    need_file("cannot read the trusted certificates", settings.ca_file);
    if (SSL_CTX_load_verify_locations(context_, settings.ca_file.c_str(), nullptr) != 1)
      refuse_file("there is no PEM certificate in", settings.ca_file, last_error());
  } else if (is_client_ && SSL_CTX_set_default_verify_paths(context_) != 1) {
    throw std::system_error(last_error(), "weft: tls: cannot read the system's trusted certificates");
  }
  const bool demands = verifies_ && (is_client_ || !settings.ca_file.empty());
  if (demands && !is_client_) SSL_CTX_set_client_CA_list(context_, SSL_load_client_CA_file(settings.ca_file.c_str()));
  SSL_CTX_set_verify(context_, demands ? SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT : SSL_VERIFY_NONE, nullptr);
}

// The first of the server's protocols that the client offers. None: the handshake fails, as RFC 7301 says.
int Credentials::select_protocol(SSL*, const unsigned char** chosen, unsigned char* chosen_size,
                                 const unsigned char* offered, unsigned offered_size, void* credentials) {
  const std::string& own = static_cast<Credentials*>(credentials)->protocols_;
  unsigned char* found = nullptr;
  if (SSL_select_next_proto(&found, chosen_size, reinterpret_cast<const unsigned char*>(own.data()),
                            static_cast<unsigned>(own.size()), offered, offered_size) != OPENSSL_NPN_NEGOTIATED)
    return SSL_TLSEXT_ERR_ALERT_FATAL;
  *chosen = found;
  return SSL_TLSEXT_ERR_OK;
}

SSL_SESSION* Credentials::take_session(const std::string& peer) {
  const no_preempt locked;
  const std::lock_guard guard(mutex_);
  const auto found = sessions_.find(peer);
  if (found == sessions_.end()) return nullptr;
  SSL_SESSION* session = found->second;
  sessions_.erase(found);
  return session;
}

void Credentials::keep_session(const std::string& peer, SSL_SESSION* session) {
  const no_preempt locked;
  const std::lock_guard guard(mutex_);
  if (sessions_.size() >= kMostSessions && !sessions_.contains(peer)) {
    SSL_SESSION_free(sessions_.begin()->second);
    sessions_.erase(sessions_.begin());
  }
  SSL_SESSION*& place = sessions_[peer];
  if (place != nullptr) SSL_SESSION_free(place);
  place = session;
}

}  // namespace weft::tls
