// SPDX-License-Identifier: MIT
#pragma once
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <stdexcept>
#include <string>

// Certificates for a test, made by it, in a directory that goes with it.
namespace weft::test {

class Certificates {
 public:
  struct Wish {
    std::string name;                                        // the common name
    std::string alternative = "DNS:localhost,IP:127.0.0.1";  // subjectAltName; "": none
    long from_days = -1, to_days = 2;                        // validity, from now
    std::string signer{};                                    // "": itself
    bool is_authority = false;
  };

  Certificates() {
    char name[] = "/tmp/weft-tls-XXXXXX";
    if (mkdtemp(name) == nullptr) throw std::runtime_error("mkdtemp");
    directory_ = name;
    make({.name = "authority", .alternative = "", .is_authority = true});
    make({.name = "stranger", .alternative = "", .is_authority = true});
    make({.name = "good", .signer = "authority"});
    make({.name = "client", .alternative = "", .signer = "authority"});
    make({.name = "expired", .from_days = -20, .to_days = -10, .signer = "authority"});
    make({.name = "other", .alternative = "DNS:other.example", .signer = "authority"});
    make({.name = "alone"});
    make({.name = "strange", .signer = "stranger"});
  }
  ~Certificates() { std::filesystem::remove_all(directory_); }
  Certificates(const Certificates&) = delete;

  std::string certificate(const std::string& name) const { return directory_ + "/" + name + ".pem"; }
  std::string key(const std::string& name) const { return directory_ + "/" + name + ".key"; }
  std::string file(const std::string& name, const std::string& text) const {
    const std::string path = directory_ + "/" + name;
    std::FILE* out = std::fopen(path.c_str(), "w");
    std::fputs(text.c_str(), out);
    std::fclose(out);
    return path;
  }

 private:
  static void require(bool ok, const char* what) {
    if (!ok) throw std::runtime_error(std::string("certificates for the test: ") + what);
  }
  static void extend(X509* certificate, X509* issuer, int id, const std::string& value) {
    X509V3_CTX context;
    X509V3_set_ctx_nodb(&context);
    X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
    X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, &context, id, value.c_str());
    require(extension != nullptr, value.c_str());
    X509_add_ext(certificate, extension, -1);
    X509_EXTENSION_free(extension);
  }

  void make(const Wish& wish) {
    EVP_PKEY* own = EVP_EC_gen("P-256");
    require(own != nullptr, "a key");
    X509* made = X509_new();
    X509_set_version(made, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(made), ++serial_);
    X509_gmtime_adj(X509_getm_notBefore(made), wish.from_days * 86'400);
    X509_gmtime_adj(X509_getm_notAfter(made), wish.to_days * 86'400);
    X509_set_pubkey(made, own);
    X509_NAME* subject = X509_get_subject_name(made);
    X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC, reinterpret_cast<const unsigned char*>(wish.name.c_str()),
                               -1, -1, 0);
    X509* issuer = made;
    EVP_PKEY* signer = own;
    if (!wish.signer.empty()) {
      std::FILE* in = std::fopen(certificate(wish.signer).c_str(), "r");
      issuer = PEM_read_X509(in, nullptr, nullptr, nullptr);
      std::fclose(in);
      in = std::fopen(key(wish.signer).c_str(), "r");
      signer = PEM_read_PrivateKey(in, nullptr, nullptr, nullptr);
      std::fclose(in);
    }
    X509_set_issuer_name(made, X509_get_subject_name(issuer));
    if (wish.is_authority) extend(made, issuer, NID_basic_constraints, "critical,CA:TRUE");
    if (!wish.alternative.empty()) extend(made, issuer, NID_subject_alt_name, wish.alternative);
    require(X509_sign(made, signer, EVP_sha256()) != 0, "a signature");
    std::FILE* out = std::fopen(certificate(wish.name).c_str(), "w");
    PEM_write_X509(out, made);
    std::fclose(out);
    out = std::fopen(key(wish.name).c_str(), "w");
    PEM_write_PrivateKey(out, own, nullptr, nullptr, 0, nullptr, nullptr);
    std::fclose(out);
    if (issuer != made) {
      X509_free(issuer);
      EVP_PKEY_free(signer);
    }
    X509_free(made);
    EVP_PKEY_free(own);
  }

  std::string directory_;
  long serial_ = 0;
};

}  // namespace weft::test
