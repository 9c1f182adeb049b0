// SPDX-License-Identifier: MIT
// SQLite, zlib and OpenSSL as Debian compiles them, each at its own work in several goroutines, with slices of a millisecond: they have
// no checks, keep locks of the C library and things of the thread, and must not notice that their goroutines lose their Ps. Every
// result is compared with that of a plain thread before.
//   third_party --seconds=N
// test-labels: checks
// test-timeout: 180
// check: not-in aarch64
// check: stdout ^all the same: \d+ rounds
// check: within 60
// check: run WEFT_MAXPROCS=2 WEFT_SLICE=1 --seconds=2
// check: run WEFT_MAXPROCS=1 WEFT_SLICE=1 --seconds=1
// check: run WEFT_MAXPROCS=2 WEFT_SLICE=1 --seconds=60
// check: long
// check: within 180
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <sqlite3.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include <weft/weft.h>

#include "support/expect.h"

namespace {

using namespace std::chrono_literals;
using Bytes = std::vector<unsigned char>;

std::uint64_t mix(std::uint64_t hash, std::uint64_t value) {
  hash = (hash ^ value) * 0x9e3779b97f4a7c15u;
  return hash ^ hash >> 29;
}
std::uint64_t mix(std::uint64_t hash, const Bytes& bytes) {
  for (unsigned char byte : bytes) hash = mix(hash, std::uint64_t{byte});
  return hash;
}
// Bytes that compress a little.
Bytes text_of(std::uint64_t seed, std::size_t size) {
  Bytes bytes(size);
  std::uint64_t state = seed + 1;
  for (std::size_t i = 0; i < size; ++i) {
    state = mix(state, std::uint64_t{i});
    bytes[i] = static_cast<unsigned char>('a' + state % (i % 64 < 48 ? 20 : 2));
  }
  return bytes;
}

// --- zlib: there and back, in pieces, at every level; allocates by functions of ours ---

voidpf allocate(voidpf, uInt count, uInt size) { return std::calloc(count, size); }
void release(voidpf, voidpf memory) { std::free(memory); }

Bytes compressed(const Bytes& from, int level) {
  z_stream stream{};
  stream.zalloc = allocate;
  stream.zfree = release;
  WEFT_EXPECT(deflateInit(&stream, level) == Z_OK);
  Bytes out(deflateBound(&stream, from.size()));
  stream.next_out = out.data();
  stream.avail_out = static_cast<uInt>(out.size());
  for (std::size_t at = 0; at < from.size();) {
    const std::size_t piece = std::min<std::size_t>(from.size() - at, 30'000);
    stream.next_in = const_cast<unsigned char*>(from.data() + at);
    stream.avail_in = static_cast<uInt>(piece);
    WEFT_EXPECT(deflate(&stream, Z_NO_FLUSH) == Z_OK);
    WEFT_EXPECT(stream.avail_in == 0);
    at += piece;
  }
  WEFT_EXPECT(deflate(&stream, Z_FINISH) == Z_STREAM_END);
  out.resize(stream.total_out);
  WEFT_EXPECT(deflateEnd(&stream) == Z_OK);
  return out;
}
std::uint64_t use_zlib(std::uint64_t seed) {
  const Bytes text = text_of(seed, 200'000);
  std::uint64_t hash = seed;
  for (const int level : {1, 6, 9}) {
    const Bytes packed = compressed(text, level);
    Bytes back(text.size());
    uLongf size = back.size();
    WEFT_EXPECT(uncompress(back.data(), &size, packed.data(), packed.size()) == Z_OK);
    WEFT_EXPECT(size == text.size() && back == text);
    hash =
        mix(mix(hash, packed), crc32(adler32(0, packed.data(), static_cast<uInt>(packed.size())), back.data(), 50'000));
  }
  return hash;
}

// --- SQLite: a database in memory and one in a file that all share; functions of ours called from inside ---

std::string shared_database;

struct Database {
  explicit Database(const char* path, int flags = 0) {
    WEFT_EXPECT(sqlite3_open_v2(path, &handle, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | flags, nullptr) ==
                SQLITE_OK);
    WEFT_EXPECT(sqlite3_busy_timeout(handle, 60'000) == SQLITE_OK);
    WEFT_EXPECT(sqlite3_create_function(handle, "twist", 1, SQLITE_UTF8 | SQLITE_DETERMINISTIC, nullptr, twist, nullptr,
                                        nullptr) == SQLITE_OK);
  }
  Database(const Database&) = delete;
  ~Database() { sqlite3_close(handle); }
  // Called with SQLite's lock held, which belongs to the thread: it may be preempted here, but must go on on that thread.
  static void twist(sqlite3_context* context, int, sqlite3_value** values) {
    sqlite3_result_int64(context, static_cast<sqlite3_int64>(
                                      mix(1, static_cast<std::uint64_t>(sqlite3_value_int64(values[0]))) % 1'000'000));
  }
  std::uint64_t run(const std::string& statements) {
    std::uint64_t hash = 1;
    const char* rest = statements.c_str();
    while (*rest != 0) {
      sqlite3_stmt* statement = nullptr;
      if (sqlite3_prepare_v2(handle, rest, -1, &statement, &rest) != SQLITE_OK) std::puts(sqlite3_errmsg(handle));
      int status = SQLITE_DONE;
      while (statement != nullptr && (status = sqlite3_step(statement)) == SQLITE_ROW)
        for (int i = 0; i < sqlite3_column_count(statement); ++i)
          for (const unsigned char* text = sqlite3_column_text(statement, i); text != nullptr && *text != 0; ++text)
            hash = mix(hash, std::uint64_t{*text});
      if (status != SQLITE_DONE) std::puts(sqlite3_errmsg(handle));
      WEFT_EXPECT(status == SQLITE_DONE);
      sqlite3_finalize(statement);
    }
    return hash;
  }
  sqlite3* handle = nullptr;
};

std::uint64_t use_sqlite(std::uint64_t seed) {
  Database own(":memory:", SQLITE_OPEN_FULLMUTEX);
  const std::string number = std::to_string(seed);
  return own.run(
      "create table t(a integer primary key, b integer, c text);"
      "create index i on t(b);"
      "with recursive n(x) as (select 1 union all select x + 1 from n where x < 1500)"
      " insert into t select x, twist(x + " +
      number +
      "), printf('%d-%x', x, x * 7919) from n;"
      "update t set b = b + length(c) where a % 3 = 0;"
      "delete from t where b % 11 = 0;"
      "select count(*), sum(b), min(c), max(c), group_concat(a % 10) from t where b > 1000;"
      "select b % 100 as r, count(*), avg(b) from t group by r having count(*) > 2 order by r;"
      "select x.c, y.b from t x join t y on x.a = y.a + 1 order by y.b, x.c limit 300;");
}

std::atomic<std::uint64_t> written{0};

// Writers queue for the file by waiting in SQLite, unannounced.
std::uint64_t use_shared_sqlite(std::uint64_t seed) {
  Database shared(shared_database.c_str(), SQLITE_OPEN_FULLMUTEX);
  const std::string number = std::to_string(seed);
  shared.run("pragma synchronous = off; begin immediate; insert into ledger(seed, value) values (" + number +
             ", twist(" + number + ")); update total set count = count + 1; commit;");
  written.fetch_add(1, std::memory_order_relaxed);
  return shared.run("select distinct value from ledger where seed = " + number + ";");
}

// --- OpenSSL: digests, ciphers, signatures, and both ends of a TLS connection ---

std::shared_ptr<EVP_PKEY> rsa_key;

std::uint64_t use_openssl(std::uint64_t seed) {
  const Bytes text = text_of(seed, 60'000);
  std::uint64_t hash = seed;
  for (const EVP_MD* kind : {EVP_sha256(), EVP_sha512(), EVP_sha3_256(), EVP_blake2b512()}) {
    Bytes digest(EVP_MAX_MD_SIZE);
    unsigned size = 0;
    WEFT_EXPECT(EVP_Digest(text.data(), text.size(), digest.data(), &size, kind, nullptr) == 1);
    digest.resize(size);
    hash = mix(hash, digest);
  }
  Bytes key(32);
  WEFT_EXPECT(PKCS5_PBKDF2_HMAC("secret", 6, text.data(), 16, 500, EVP_sha256(), static_cast<int>(key.size()),
                                key.data()) == 1);
  hash = mix(hash, key);
  const auto cipher = [&](bool encrypt, const Bytes& from, Bytes& tag) {
    const std::unique_ptr<EVP_CIPHER_CTX, decltype(&EVP_CIPHER_CTX_free)> context(EVP_CIPHER_CTX_new(),
                                                                                  EVP_CIPHER_CTX_free);
    Bytes to(from.size());
    int size = 0, last = 0;
    WEFT_EXPECT(EVP_CipherInit_ex(context.get(), EVP_aes_256_gcm(), nullptr, key.data(), text.data(), encrypt) == 1);
    WEFT_EXPECT(EVP_CipherUpdate(context.get(), to.data(), &size, from.data(), static_cast<int>(from.size())) == 1);
    if (!encrypt) WEFT_EXPECT(EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_GCM_SET_TAG, 16, tag.data()) == 1);
    WEFT_EXPECT(EVP_CipherFinal_ex(context.get(), to.data() + size, &last) == 1);
    if (encrypt) WEFT_EXPECT(EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_GCM_GET_TAG, 16, tag.data()) == 1);
    return to;
  };
  Bytes tag(16);
  const Bytes secret = cipher(true, text, tag);
  WEFT_EXPECT(cipher(false, secret, tag) == text);
  hash = mix(mix(hash, secret), tag);
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(EVP_MD_CTX_new(), EVP_MD_CTX_free);
  std::size_t size = 0;
  WEFT_EXPECT(EVP_DigestSignInit(context.get(), nullptr, EVP_sha256(), nullptr, rsa_key.get()) == 1);
  WEFT_EXPECT(EVP_DigestSign(context.get(), nullptr, &size, text.data(), text.size()) == 1);
  Bytes signature(size);
  WEFT_EXPECT(EVP_DigestSign(context.get(), signature.data(), &size, text.data(), text.size()) == 1);
  signature.resize(size);
  EVP_MD_CTX_reset(context.get());
  WEFT_EXPECT(EVP_DigestVerifyInit(context.get(), nullptr, EVP_sha256(), nullptr, rsa_key.get()) == 1);
  WEFT_EXPECT(EVP_DigestVerify(context.get(), signature.data(), size, text.data(), text.size()) == 1);
  return mix(hash, signature);
}

std::shared_ptr<SSL_CTX> server_context, client_context;

void make_keys() {
  rsa_key.reset(EVP_RSA_gen(2048), EVP_PKEY_free);
  WEFT_EXPECT(rsa_key != nullptr);
  const std::shared_ptr<X509> certificate(X509_new(), X509_free);
  X509_gmtime_adj(X509_getm_notBefore(certificate.get()), 0);
  X509_gmtime_adj(X509_getm_notAfter(certificate.get()), 86'400);
  X509_set_pubkey(certificate.get(), rsa_key.get());
  X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate.get()), "CN", MBSTRING_ASC,
                             reinterpret_cast<const unsigned char*>("soak"), -1, -1, 0);
  X509_set_issuer_name(certificate.get(), X509_get_subject_name(certificate.get()));
  WEFT_EXPECT(X509_sign(certificate.get(), rsa_key.get(), EVP_sha256()) > 0);
  server_context.reset(SSL_CTX_new(TLS_server_method()), SSL_CTX_free);
  client_context.reset(SSL_CTX_new(TLS_client_method()), SSL_CTX_free);
  WEFT_EXPECT(SSL_CTX_use_certificate(server_context.get(), certificate.get()) == 1);
  WEFT_EXPECT(SSL_CTX_use_PrivateKey(server_context.get(), rsa_key.get()) == 1);
}

std::uint64_t use_tls(std::uint64_t seed) {
  const std::shared_ptr<SSL> server(SSL_new(server_context.get()), SSL_free),
      client(SSL_new(client_context.get()), SSL_free);
  BIO *server_end = nullptr, *client_end = nullptr;
  WEFT_EXPECT(BIO_new_bio_pair(&server_end, 0, &client_end, 0) == 1);
  SSL_set_bio(server.get(), server_end, server_end);
  SSL_set_bio(client.get(), client_end, client_end);
  SSL_set_accept_state(server.get());
  SSL_set_connect_state(client.get());
  const auto may_go_on = [](SSL* side, int result) {
    const int error = result > 0 ? SSL_ERROR_NONE : SSL_get_error(side, result);
    WEFT_EXPECT(error == SSL_ERROR_NONE || error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE);
    return result > 0;
  };
  for (bool done = false; !done;) {
    const bool connected = may_go_on(client.get(), SSL_do_handshake(client.get()));
    done = may_go_on(server.get(), SSL_do_handshake(server.get())) && connected;
  }
  const Bytes sent = text_of(seed, 50'000);
  Bytes got;
  for (std::size_t at = 0; got.size() < sent.size();) {
    if (at < sent.size()) {
      const int size =
          SSL_write(client.get(), sent.data() + at, static_cast<int>(std::min<std::size_t>(sent.size() - at, 4000)));
      if (may_go_on(client.get(), size)) at += static_cast<std::size_t>(size);
    }
    std::array<unsigned char, 5000> buffer;
    const int size = SSL_read(server.get(), buffer.data(), static_cast<int>(buffer.size()));
    if (may_go_on(server.get(), size)) got.insert(got.end(), buffer.begin(), buffer.begin() + size);
  }
  WEFT_EXPECT(got == sent);
  return mix(seed, got);
}

// --- all of it ---

struct Kind {
  const char* name;
  std::uint64_t (*use)(std::uint64_t seed);
  std::atomic<std::uint64_t> rounds{0};
};
std::array<Kind, 5> kinds{{{"zlib", use_zlib},
                           {"SQLite", use_sqlite},
                           {"SQLite, one file", use_shared_sqlite},
                           {"OpenSSL", use_openssl},
                           {"OpenSSL, TLS", use_tls}}};
constexpr std::size_t kSeeds = 4;
constexpr std::size_t kGoroutines = 2 * kinds.size();

int soak(std::chrono::seconds length) {
  WEFT_EXPECT(sqlite3_threadsafe() == 1);
  make_keys();
  shared_database = "weft-third-party-" + std::to_string(getpid()) + ".db";
  shared_database.insert(0, std::string(std::getenv("TMPDIR") != nullptr ? std::getenv("TMPDIR") : "/tmp") + "/");
  {
    Database fresh(shared_database.c_str());
    fresh.run(
        "create table ledger(seed integer, value integer); create table total(count integer);"
        "insert into total values (0);");
  }
  std::array<std::array<std::uint64_t, kSeeds>, kinds.size()> expected{};
  for (std::size_t k = 0; k < kinds.size(); ++k)
    for (std::uint64_t seed = 0; seed < kSeeds; ++seed) expected[k][seed] = kinds[k].use(seed);

  const auto start = std::chrono::steady_clock::now();
  std::uint64_t ticks = 0, threads_at_most = 0;
  weft::run([&] {
    const auto is_over = [&] { return std::chrono::steady_clock::now() >= start + length; };
    weft::wait_group group;
    for (std::size_t g = 0; g < kGoroutines; ++g)
      group.go([&, g] {
        for (std::uint64_t round = 0; round < kSeeds || !is_over(); ++round) {
          const std::size_t k = (g + round) % kinds.size();
          const std::uint64_t seed = (round / kinds.size() + g) % kSeeds;
          if (kinds[k].use(seed) != expected[k][seed]) {
            std::printf("different: %s of %llu\n", kinds[k].name, static_cast<unsigned long long>(seed));
            std::fflush(stdout);
            _exit(1);
          }
          kinds[k].rounds.fetch_add(1, std::memory_order_relaxed);
        }
      });
    while (!is_over()) {  // somebody who waits for the end of slices
      weft::this_goroutine::sleep_for(1ms);
      ++ticks;
      threads_at_most = std::max<std::uint64_t>(threads_at_most, weft::runtime::read_stats().threads);
    }
    group.wait();
  });
  std::uint64_t rounds = 0;
  for (const Kind& kind : kinds) {
    std::printf("%-17s %llu rounds\n", kind.name, static_cast<unsigned long long>(kind.rounds.load()));
    WEFT_EXPECT(kind.rounds > 0);
    rounds += kind.rounds;
  }
  {
    Database shared(shared_database.c_str());
    const std::string count = std::to_string(written);
    const std::uint64_t same =
        shared.run("select count from total where count = " + count + " and count = (select count(*) from ledger);");
    WEFT_EXPECT(same == [&] {
      std::uint64_t hash = 1;
      for (char c : count) hash = mix(hash, std::uint64_t{static_cast<unsigned char>(c)});
      return hash;
    }());
  }
  unlink(shared_database.c_str());
  const weft::stats stats = weft::runtime::read_stats();
  const auto number = [](std::uint64_t value) { return static_cast<unsigned long long>(value); };
  std::printf("%llu ticks, %llu preemptions, %llu of them exiles, %llu threads at most\n", number(ticks),
              number(stats.preempts_done), number(stats.exiles), number(threads_at_most));
  WEFT_EXPECT(stats.exiles > 0);
  std::printf("all the same: %llu rounds\n", number(rounds));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  static constexpr char kFlag[] = "--seconds=";
  const int seconds =
      argc == 2 && std::strncmp(argv[1], kFlag, sizeof kFlag - 1) == 0 ? std::atoi(argv[1] + sizeof kFlag - 1) : 0;
  if (seconds <= 0) {
    std::fprintf(stderr, "usage: third_party --seconds=N\n");
    return 64;
  }
  return soak(std::chrono::seconds(seconds));
}
