#include "orbit/store/tests/postgresql/server.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <pwd.h>
#include <soci/soci.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <ctime>
#include <stdexcept>

// SOCI's backend forgets the copies of a statement's parameters when its execution fails: some hundred bytes for each
// statement that the database refused.
extern "C" const char* __lsan_default_suppressions();
extern "C" const char* __lsan_default_suppressions() {
  return "leak:libsoci_postgresql\n";
}

namespace orbit::store::testing {
namespace {

namespace fs = std::filesystem;

constexpr const char* programs = "/usr/lib/postgresql/15/bin";

fs::path parent() {
  return ::access("/dev/shm", W_OK) == 0 ? fs::path("/dev/shm") : fs::temp_directory_path();
}

// PostgreSQL refuses to be root's.
const passwd* other_user() {
  if (geteuid() != 0) return nullptr;
  const passwd* user = getpwnam("postgres");
  if (user == nullptr) throw std::runtime_error("there is no user postgres: install postgresql-15");
  return user;
}

}  // namespace

PostgresServer::PostgresServer() : directory_(*platform::TempDirectory::make(parent(), "orbit-pg-")) {
  if (!fs::exists(fs::path(programs) / "postgres"))
    throw std::runtime_error("PostgreSQL 15 is not installed: scripts/install-packages");
  // Kept to the very end, so that what it forgot can be told from what we did.
  dlopen("libsoci_postgresql.so.4.0", RTLD_NOW | RTLD_NODELETE);
  for (const fs::path& path : {directory_.path(), sockets()}) {
    fs::create_directories(path);
    fs::permissions(path, fs::perms::owner_all | fs::perms::group_all | fs::perms::others_all);
  }
  run("initdb",
      fmt::format("-D '{}/data' -U orbit -A trust -E UTF8 --locale=C.UTF-8 --no-sync", directory_.path().string()));
  start();
}

PostgresServer::~PostgresServer() {
  stop();
  // The data directory is another user's; root may, and so may its owner.
  std::error_code ignored;
  fs::remove_all(directory_.path() / "data", ignored);
}

pid_t PostgresServer::spawn(const std::string& command) const {
  const passwd* user = other_user();
  const pid_t pid = fork();
  if (pid < 0) throw std::runtime_error("fork failed");
  if (pid > 0) return pid;
  if (user != nullptr && (setgid(user->pw_gid) != 0 || setuid(user->pw_uid) != 0)) _exit(126);
  if (chdir("/") != 0) _exit(126);
  const std::string line = fmt::format("exec {}/{}", programs, command);
  unsetenv("LD_PRELOAD");
  execl("/bin/sh", "sh", "-c", line.c_str(), nullptr);
  _exit(127);
}

void PostgresServer::run(const std::string& program, const std::string& arguments) const {
  const pid_t pid =
      spawn(fmt::format("{} {} >'{}/{}.log' 2>&1", program, arguments, directory_.path().string(), program));
  int status = 0;
  waitpid(pid, &status, 0);
  if (status != 0) throw std::runtime_error(fmt::format("{} failed, see {}", program, directory_.path().string()));
}

void PostgresServer::start() {
  postmaster_ =
      spawn(fmt::format("postgres -D '{0}/data' -k '{0}/sockets' -c listen_addresses= >>'{0}/postgres.log' 2>&1",
                        directory_.path().string()));
  for (int tries = 0;; ++tries) {
    try {
      execute(url("postgres"), "SELECT 1");
      return;
    } catch (const soci::soci_error& error) {
      if (tries == 600) throw std::runtime_error(std::string("PostgreSQL does not start: ") + error.what());
      const timespec pause{0, 50'000'000};
      nanosleep(&pause, nullptr);
    }
  }
}

void PostgresServer::stop() {
  if (postmaster_ <= 0) return;
  kill(postmaster_, SIGQUIT);
  waitpid(postmaster_, nullptr, 0);
  postmaster_ = -1;
}

std::string PostgresServer::new_database() {
  std::string name = fmt::format("test{}", ++databases_);
  execute(url("postgres"), "CREATE DATABASE " + name);
  return name;
}

std::string PostgresServer::url(const std::string& database, const fs::path& directory) const {
  return fmt::format("postgresql://orbit@/{}?host={}", database, directory.string());
}

void execute(const std::string& url, const std::string& sql) {
  soci::session session("postgresql", url);
  session << sql;
}

}  // namespace orbit::store::testing
