// A PostgreSQL of the tests' own: its files in a temporary directory, reached by a socket there and in no other way.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>

#include "orbit/platform/files.hpp"

namespace orbit::store::testing {

class PostgresServer {
 public:
  // Throws when there is no PostgreSQL 15 or it does not start.
  PostgresServer();
  ~PostgresServer();
  PostgresServer(const PostgresServer&) = delete;
  PostgresServer& operator=(const PostgresServer&) = delete;

  void start();
  void stop();  // at once, as in a crash: nothing is told to anybody
  std::string new_database();
  // Through the socket in `directory`: the server's own, or that of a proxy in front of it.
  std::string url(const std::string& database, const std::filesystem::path& directory) const;
  std::string url(const std::string& database) const { return url(database, sockets()); }
  std::filesystem::path sockets() const { return directory_.path() / "sockets"; }

 private:
  void run(const std::string& program, const std::string& arguments) const;
  pid_t spawn(const std::string& command) const;

  platform::TempDirectory directory_;
  pid_t postmaster_ = -1;
  int databases_ = 0;
};

// What a person with psql would say; throws soci::soci_error.
void execute(const std::string& url, const std::string& sql);

}  // namespace orbit::store::testing
