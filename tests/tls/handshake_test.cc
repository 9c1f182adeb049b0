// SPDX-License-Identifier: MIT
// test-timeout: 300
#include <openssl/ssl.h>
#include <openssl/x509_vfy.h>

#include <array>
#include <string>
#include <thread>
#include <vector>

#include "tls/tls_fixture.h"

// weft::tls: who is believed, and what the two sides agree on.
namespace {

using namespace weft::test;

class TlsHandshake : public Tls {};
WEFT_AT_ALL_CONFIGURATIONS(TlsHandshake);

std::error_code refused(int reason) { return {-reason, tls::category()}; }

TEST_P(TlsHandshake, a_trusted_server_is_believed_and_others_are_not) {
  weft::run([] {
    for (const auto& [name, wanted] :
         std::vector<std::pair<std::string, int>>{{"good", 0},
                                                  {"expired", X509_V_ERR_CERT_HAS_EXPIRED},
                                                  {"other", X509_V_ERR_HOSTNAME_MISMATCH},
                                                  {"alone", X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT},
                                                  {"strange", X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY}}) {
      TlsPair pair = raw_pair(client_config(), server_config(name));
      const Errors errors = greet(pair);
      if (wanted == 0) {
        EXPECT_FALSE(errors.client) << errors.client.message();
        EXPECT_FALSE(errors.server) << errors.server.message();
        continue;
      }
      EXPECT_EQ(errors.client, refused(wanted)) << name << ": " << errors.client.message();
      EXPECT_EQ(&errors.server.category(), &tls::category()) << "the server gets an alert: " << errors.server.message();
      char byte[1];
      EXPECT_THROW(pair.client.read(byte), std::system_error);
    }
  });
}

TEST_P(TlsHandshake, verification_can_be_switched_off_and_is_on_by_default) {
  weft::run([] {
    tls::config careless;
    careless.verify = false;
    for (const char* name : {"expired", "other", "alone"}) {
      TlsPair pair = raw_pair(careless, server_config(name));
      EXPECT_FALSE(greet(pair).client) << name;
    }
    // The system does not trust the test's authority.
    tls::config usual;
    usual.server_name = "localhost";
    TlsPair pair = raw_pair(usual, server_config());
    EXPECT_EQ(&greet(pair).client.category(), &tls::category());
    auto [one, other] = net::pipe();
    EXPECT_THROW(tls::conn(std::move(one), tls::config(), tls::role::client), std::invalid_argument);
    EXPECT_TRUE(one.is_open()) << "what was refused was not taken";
  });
}

TEST_P(TlsHandshake, names_and_addresses_are_verified) {
  weft::run([] {
    for (const auto& [name, wanted] :
         std::vector<std::pair<std::string, int>>{{"localhost", 0},
                                                  {"127.0.0.1", 0},
                                                  {"LOCALHOST", 0},
                                                  {"127.0.0.2", X509_V_ERR_IP_ADDRESS_MISMATCH},
                                                  {"local", X509_V_ERR_HOSTNAME_MISMATCH}}) {
      tls::config client = client_config();
      client.server_name = name;
      TlsPair pair = raw_pair(client, server_config());
      const std::error_code error = greet(pair).client;
      EXPECT_EQ(error, wanted != 0 ? refused(wanted) : std::error_code()) << name << ": " << error.message();
      if (wanted != 0) continue;
      EXPECT_EQ(pair.server.server_name(), name == "127.0.0.1" ? "" : name) << "SNI has no addresses";
    }
  });
}

TEST_P(TlsHandshake, a_server_may_demand_certificates_of_its_clients) {
  weft::run([] {
    tls::config server = server_config();
    server.ca_file = made().certificate("authority");
    for (const auto& [name, accepted] : std::vector<std::pair<std::string, bool>>{
             {"client", true}, {"", false}, {"expired", false}, {"alone", false}, {"strange", false}})
      for (const tls::version least : {tls::version::tls1_2, tls::version::tls1_3}) {
        tls::config client = client_config();
        client.min_version = least;
        if (!name.empty()) client.certificate = made().certificate(name), client.key = made().key(name);
        TlsPair pair = raw_pair(client, server);
        const Errors errors = greet(pair);
        EXPECT_EQ(!errors.server, accepted) << name << ": " << errors.server.message();
        EXPECT_EQ(!errors.client, accepted) << name << ": " << errors.client.message();
        EXPECT_EQ(pair.server.peer_certificate().starts_with("-----BEGIN CERTIFICATE"), accepted);
      }
  });
}

TEST_P(TlsHandshake, old_versions_are_refused) {
  weft::run([] {
    for (const int most : {TLS1_1_VERSION, TLS1_2_VERSION}) {
      auto [client, server] = plain_ends(false);
      auto accepted = weft::spawn([&, &end = server] {
        tls::conn connection(std::move(end), server_config(), tls::role::server);
        std::error_code error;
        connection.handshake(error);
        return error;
      });
      // A client by OpenSSL alone, on the bare descriptor, in a thread.
      const int fd = client.release();
      bool shaken = false;
      weft::blocking([&] {
        SSL_CTX* context = SSL_CTX_new(TLS_client_method());
        SSL_CTX_set_security_level(context, 0);
        SSL_CTX_set_min_proto_version(context, TLS1_VERSION);
        SSL_CTX_set_max_proto_version(context, most);
        SSL* ssl = SSL_new(context);
        SSL_set_fd(ssl, fd);
        shaken = SSL_connect(ssl) == 1;
        SSL_free(ssl);
        SSL_CTX_free(context);
        close(fd);
      });
      const std::error_code error = accepted.join();
      EXPECT_EQ(shaken, most == TLS1_2_VERSION);
      EXPECT_EQ(!error, shaken) << error.message();
      EXPECT_TRUE(shaken || error.category() == tls::category()) << error.message();
    }
    tls::config modern = server_config();
    modern.min_version = tls::version::tls1_3;
    TlsPair pair = raw_pair(client_config(), modern);
    EXPECT_FALSE(greet(pair).client);
    EXPECT_EQ(pair.client.protocol(), "TLSv1.3");
    EXPECT_TRUE(pair.client.cipher().starts_with("TLS_")) << pair.client.cipher();
  });
}

TEST_P(TlsHandshake, the_two_sides_agree_on_a_protocol_by_alpn) {
  weft::run([] {
    const auto agree = [](std::vector<std::string> client, std::vector<std::string> server) {
      tls::config one = client_config(), other = server_config();
      one.alpn = std::move(client);
      other.alpn = std::move(server);
      TlsPair pair = raw_pair(one, other);
      const Errors errors = greet(pair);
      if (errors.client) return std::string("refused");
      EXPECT_EQ(pair.client.alpn(), pair.server.alpn());
      return pair.client.alpn();
    };
    EXPECT_EQ(agree({"h2", "http/1.1"}, {"http/1.1"}), "http/1.1");
    EXPECT_EQ(agree({"http/1.1", "h2"}, {"h2", "http/1.1"}), "h2") << "the server chooses";
    EXPECT_EQ(agree({"h2"}, {"http/1.1"}), "refused");
    EXPECT_EQ(agree({}, {"http/1.1"}), "");
    EXPECT_EQ(agree({"h2"}, {}), "");
    EXPECT_THROW(agree({""}, {}), std::invalid_argument);
  });
}

TEST_P(TlsHandshake, dialling_the_same_address_again_continues_the_session) {
  weft::run([] {
    tls::listener listener = tls::listen("tcp", "127.0.0.1:0", server_config());
    auto serve = weft::spawn([&] {
      std::error_code error;
      for (;;) {
        tls::conn connection = listener.accept(error);
        if (error) return;
        connection.write("hello", error);
      }
    });
    tls::config client;
    client.ca_file = made().certificate("authority");
    const std::string where = "localhost:" + std::to_string(listener.port());
    for (int round = 0; round < 3; ++round) {
      tls::conn connection = tls::dial("tcp4", where, client, 30s);
      std::string got(5, ' ');
      EXPECT_EQ(connection.read_full(got), 5u);
      char end[1];
      EXPECT_EQ(connection.read(end), 0u);
      EXPECT_EQ(connection.resumed(), round > 0) << round;
      EXPECT_EQ(connection.server_name(), "localhost");
    }
    client.min_version = tls::version::tls1_3;  // another config: other sessions
    EXPECT_FALSE(tls::dial("tcp4", where, client, 30s).resumed());
    listener.close();
    serve.join();
  });
}

TEST_P(TlsHandshake, files_that_are_no_certificates_are_named) {
  weft::run([] {
    const auto refuse = [](const tls::config& settings, const std::string& part) {
      try {
        tls::listen("tcp", "127.0.0.1:0", settings);
        ADD_FAILURE() << "accepted: " << part;
      } catch (const std::system_error& error) {
        EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
      }
    };
    tls::config settings = server_config();
    settings.certificate = "/no/such.pem";
    refuse(settings, "cannot read the certificate '/no/such.pem'");
    settings = server_config();
    settings.key = made().key("other");
    refuse(settings, "no PEM key of the certificate in");
    settings = server_config();
    settings.certificate = made().file("text", "this is no certificate\n");
    refuse(settings, "text'");
    settings = server_config();
    settings.ca_file = settings.certificate + "x";
    refuse(settings, "cannot read the trusted certificates");
    EXPECT_THROW(tls::listen("tcp", "127.0.0.1:0", {}), std::invalid_argument);
    EXPECT_THROW(tls::dial("unix", "/nowhere", {}), std::invalid_argument);
  });
}

TEST_P(TlsHandshake, garbage_and_silence_and_death_end_it) {
  weft::run([] {
    for (const bool in_memory : {true, false})
      for (const auto as : {tls::role::client, tls::role::server}) {
        const auto end_of = [&](auto peer) {
          auto [one, other] = plain_ends(in_memory);
          auto plain = weft::spawn([&, &end = other] { peer(end); });
          tls::conn connection(std::move(one), as == tls::role::client ? client_config() : server_config(), as);
          connection.set_deadline(Clock::now() + 30s);
          std::error_code error, again;
          connection.handshake(error);
          connection.handshake(again);
          connection.close();
          plain.join();
          EXPECT_TRUE(again);
          return error;
        };
        const auto drain = [](net::conn& end) {
          char buffer[4096];
          std::error_code error;
          while (end.read(buffer, error) != 0) {
          }
        };
        const std::error_code garbage = end_of([&](net::conn& end) {
          auto reader = weft::spawn([&] { drain(end); });
          std::error_code error;
          end.write("GET / HTTP/1.1\r\nHost: x\r\n\r\n", error);
        });
        EXPECT_EQ(&garbage.category(), &tls::category()) << garbage.message();
        EXPECT_NE(garbage, tls::errc::truncated);
        const std::error_code death = end_of([&](net::conn& end) {
          end.close_write();
          drain(end);
        });
        EXPECT_EQ(death, tls::errc::truncated) << death.message();
        const std::error_code half = end_of([&](net::conn& end) {
          auto reader = weft::spawn([&] { drain(end); });
          std::error_code error;
          end.write(std::string("\x16\x03\x01\x02\x00\x01\x00\x01", 8), error);
          end.close_write();
        });
        EXPECT_EQ(half, tls::errc::truncated) << half.message();
      }
  });
}

TEST_P(TlsHandshake, deadlines_contexts_and_close_end_it) {
  weft::run([] {
    for (const bool in_memory : {true, false}) {
      auto [one, other] = plain_ends(in_memory);
      tls::conn connection(std::move(one), server_config(), tls::role::server);
      connection.set_deadline(Clock::now() + 2ms);
      std::error_code error;
      connection.handshake(error);
      EXPECT_EQ(error, std::errc::timed_out);
      connection.set_deadline(weft::time_point::max());
      auto [ctx, cancel] = weft::with_timeout(weft::context::background(), 2ms);
      connection.handshake(ctx, error);
      EXPECT_EQ(error, std::errc::timed_out);
      auto waiting = weft::spawn([&] {
        std::error_code failure;
        char byte[1];
        connection.read(byte, failure);
        return failure;
      });
      EXPECT_FALSE(waiting.wait_for(2ms));
      connection.close();
      EXPECT_EQ(waiting.join(), std::errc::bad_file_descriptor);
      EXPECT_FALSE(connection);
    }
    net::listener silent = net::listen("tcp", "127.0.0.1:0");
    EXPECT_THROW(tls::dial("tcp", silent.address().to_string(), client_config(), 20ms), std::system_error);
    tls::conn none;
    std::error_code error;
    EXPECT_EQ(none.write("x", error), 0u);
    EXPECT_EQ(error, std::errc::bad_file_descriptor);
    EXPECT_THROW(none.close_write(), std::system_error);
    none.close();
  });
}

// After a time limit the handshake goes on where it was.
TEST_P(TlsHandshake, a_handshake_may_be_continued_after_a_time_limit) {
  weft::run([] {
    TlsPair pair = raw_pair(client_config(), server_config());
    pair.client.set_deadline(Clock::now() + 2ms);
    std::error_code error;
    pair.client.handshake(error);
    EXPECT_EQ(error, std::errc::timed_out);
    pair.client.set_deadline(weft::time_point::max());
    const Errors errors = greet(pair);
    EXPECT_FALSE(errors.client) << errors.client.message();
    EXPECT_FALSE(errors.server) << errors.server.message();
  });
}

TEST_P(TlsHandshake, plain_threads_use_it_too) {
  tls::listener listener = tls::listen("tcp", "127.0.0.1:0", server_config());
  std::thread server([&] {
    tls::conn connection = listener.accept();
    std::string text(4, ' ');
    connection.read_full(text);
    connection.write(text + text);
    connection.close();
  });
  tls::conn connection = tls::dial("tcp", listener.address().to_string(), client_config(), 30s);
  connection.write("ping");
  std::string back(9, ' ');
  back.resize(connection.read_full(back));
  EXPECT_EQ(back, "pingping");
  server.join();
}

}  // namespace
