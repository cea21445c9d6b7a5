#include "server_command.hpp"

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>

#include "orbit/base/json.hpp"
#include "orbit/base/log.hpp"
#include "orbit/control/engine.hpp"
#include "orbit/control/writer.hpp"
#include "orbit/placement/local.hpp"
#include "orbit/platform/files.hpp"
#include "orbit/platform/system.hpp"
#include "orbit/server/api_server.hpp"
#include "orbit/server/carrier.hpp"
#include "orbit/server/config.hpp"
#include "orbit/server/observer.hpp"
#include "orbit/spec/template.hpp"
#include "orbit/store/file_blob_store.hpp"
#include "orbit/store/file_log_store.hpp"
#include "orbit/store/postgres_store.hpp"
#include "orbit/store/sqlite_store.hpp"

namespace orbit::app {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t stop_grace_ms = 5'000;

fs::path default_data_directory() {
  if (const char* xdg = std::getenv("XDG_DATA_HOME"); xdg != nullptr && *xdg == '/') return fs::path(xdg) / "orbit";
  if (const char* home = std::getenv("HOME"); home != nullptr && *home == '/')
    return fs::path(home) / ".local/share/orbit";
  return "/var/lib/orbit";
}

std::map<std::string, std::string> from_environment() {
  std::map<std::string, std::string> out;
  for (const server::ConfigKey& key : server::config_keys())
    if (const char* value = std::getenv(server::environment_variable(key.key).c_str())) out[key.key] = value;
  return out;
}

// A directory with runs in it and no database is no first start: what it recorded would silently be given up.
Result<void> refuse_lost_database(const fs::path& data) {
  std::error_code error;
  const bool has_database = fs::exists(data / "orbit.db") && fs::file_size(data / "orbit.db", error) > 0;
  if (has_database) return {};
  for (const char* below : {"attempts", "logs"})
    if (fs::is_directory(data / below, error) && !fs::is_empty(data / below, error))
      return fail(ErrorCode::corrupt,
                  fmt::format("there is no database, but {}/ is not empty: its runs were recorded in one", below),
                  (data / "orbit.db").string(),
                  "put the database back from a backup, or start with a new --data directory");
  return {};
}

Result<std::unique_ptr<Store>> open_store(const fs::path& data, const std::string& url) {
  if (!url.empty()) return store::open_postgres(url);
  ORBIT_TRY(refuse_lost_database(data));
  return store::open_sqlite(data / "orbit.db");
}

// What a data directory holds before its first start is over.
Result<void> prepare(const fs::path& data) {
  for (const char* below : {"", "keys", "templates", "task-types", "attempts", "tmp"})
    ORBIT_TRY(platform::make_directories(data / below, 0700));
  if (!fs::exists(data / "config.yaml"))
    ORBIT_TRY(platform::write_file_durably(data / "config.yaml", server::default_config_text(), 0600));
  for (const auto& [id, text] : spec::shipped_templates())
    if (const fs::path file = data / "templates" / (id + ".yaml"); !fs::exists(file))
      ORBIT_TRY(platform::write_file_durably(file, text, 0600));
  return {};
}

void set_log_level(const std::string& level) {
  for (const auto& [name, value] : {std::pair("debug", log::Level::debug), std::pair("info", log::Level::info),
                                    std::pair("warning", log::Level::warning), std::pair("error", log::Level::error)})
    if (level == name) log::set_level(value);
}

// Blocks until somebody asks the process to end, or it may not lead any more: an error.
Result<void> wait_for_end(const sigset_t& signals, const control::Writer& writer) {
  for (;;) {
    const timespec second{1, 0};
    const int signal = sigtimedwait(&signals, nullptr, &second);
    if (signal == SIGTERM || signal == SIGINT) {
      log::info("{}: stopping", signal == SIGINT ? "interrupted" : "asked to end");
      return {};
    }
    if (writer.deposed()) {
      log::error("another server took over this database: stopping");
      return fail(ErrorCode::conflict, "another server took over this database", "leader",
                  "only one server may work on a database");
    }
  }
}

Result<void> serve(const fs::path& data, const std::map<std::string, std::string>& flags) {
  ORBIT_TRY(platform::make_directories(data, 0700));
  Result<platform::FileLock> lock = platform::FileLock::acquire(data / "server.lock");
  if (!lock) {
    if (lock.error().code != ErrorCode::conflict) return fail(std::move(lock).error());
    return fail(ErrorCode::conflict, "another server works on this data directory", data.string(),
                "stop it first, or give this one its own --data");
  }
  ORBIT_TRY(prepare(data));
  const fs::path config_file = data / "config.yaml";
  ORBIT_TRY_ASSIGN(const std::string config_text, platform::read_file(config_file, 1 << 20));
  ORBIT_TRY_ASSIGN(const server::ServerConfig config,
                   server::load_config(config_text, config_file.string(), from_environment(), flags));
  set_log_level(config.log_level);
  ORBIT_TRY_ASSIGN(const server::ListenAddress address, server::parse_listen(config.listen));

  // Before any thread is started: all of them leave these signals to wait_for_end().
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  std::signal(SIGPIPE, SIG_IGN);

  platform::SystemClock clock;
  platform::SystemRng rng;
  const WallTime started_at = clock.now().wall;
  ORBIT_TRY_ASSIGN(const std::unique_ptr<Store> store, open_store(data, config.db));
  ORBIT_TRY_ASSIGN(const std::unique_ptr<BlobStore> blobs, store::open_file_blob_store(data / "blobs"));
  ORBIT_TRY_ASSIGN(const std::unique_ptr<LogStore> logs, store::open_file_log_store(data / "logs"));
  server::StorePool readers(*store);

  BackendRegistry backends;
  backends.add(PlacementKind::local, LaunchMode::host_process,
               std::make_shared<placement::LocalPlacement>(data / "attempts", *blobs, platform::own_program(), clock));

  Policy policy;
  policy.local_slots = config.local_slots;
  policy.start_deadline_s = config.start_deadline_s;
  control::Engine engine(*store, clock, rng, policy);
  ORBIT_TRY(engine.start());

  server::EventHub events;
  server::WorkerPool workers(static_cast<std::size_t>(config.worker_threads));
  server::Carrier carrier(backends, *logs, *blobs, clock, workers);
  control::Writer* writer_of_outcomes = nullptr;
  control::Writer writer(
      engine,
      [&](const Intent& intent, const LiveAttempt& attempt) { carrier.carry(intent, attempt, *writer_of_outcomes); },
      [&](const std::vector<Event>& published) { events.publish(published); });
  writer_of_outcomes = &writer;
  writer.start();

  ORBIT_TRY(server::ensure_admin_token(writer, readers, clock, rng, data / "keys"));
  server::Observer observer(
      writer, backends, *logs, readers.source(), clock, workers, [&](const AttemptId& id) { events.logs_grew(id); },
      config.observe_interval_ms);
  observer.start();

  server::Authenticator authenticator(readers, clock);
  server::SubmissionOptions submission_options;
  submission_options.templates = data / "templates";
  submission_options.task_types = data / "task-types";
  submission_options.allow_command_tasks = config.allow_command_tasks;
  server::SubmissionService submissions(writer, readers.source(), *blobs, backends, clock, rng, submission_options);
  for (const auto& [id, error] : submissions.catalog().templates().bad) log::warning("{}", error.text());
  for (const auto& [id, error] : submissions.catalog().task_types().bad) log::warning("{}", error.text());
  server::AttemptService attempts(writer, readers.source(), *blobs, backends, clock, rng);

  net::ServerOptions http;
  http.address = address.address;
  http.port = address.port;
  http.spool_directory = data / "tmp";
  http.worker_threads = static_cast<std::size_t>(config.http_threads);
  server::ApiContext context{writer,
                             readers,
                             *blobs,
                             *logs,
                             backends,
                             clock,
                             rng,
                             events,
                             authenticator,
                             submissions,
                             attempts,
                             ORBIT_VERSION,
                             config.db.empty() ? "sqlite" : "postgresql",
                             engine.leader_epoch(),
                             started_at};
  ORBIT_TRY_ASSIGN(const std::unique_ptr<server::ApiServer> api, server::ApiServer::listen(context, http));

  const std::string host =
      address.address.find(':') == std::string::npos ? address.address : "[" + address.address + "]";
  const std::string url = fmt::format("http://{}:{}", host, api->port());
  json::Object about;
  about["url"] = url;
  about["pid"] = static_cast<std::int64_t>(getpid());
  about["started_at"] = to_rfc3339(started_at);
  ORBIT_TRY(platform::write_file(data / "server.json", json::dump(about) + "\n", 0600));
  const fs::path token = data / "keys/admin.token";
  if (fs::exists(token)) log::info("an admin token is in {}: orbit login {} < {}", token.string(), url, token.string());
  log::info("orbit {} serves {} from {}", ORBIT_VERSION, url, data.string());

  Result<void> ended = wait_for_end(signals, writer);
  api->stop(stop_grace_ms);
  observer.stop();
  workers.stop();
  writer.stop();
  std::error_code ignored;
  fs::remove(data / "server.json", ignored);  // it names no running server any more
  log::info("stopped; runs that live go on without this server");
  return ended;
}

}  // namespace

void add_server_command(cli::Command& root) {
  struct Arguments {
    std::string data = default_data_directory().string();
    std::map<std::string, std::optional<std::string>> flags;
  };
  const auto given = std::make_shared<Arguments>();
  cli::Command& command = root.add("server", "Run the control plane: API, reconciler and scheduler in one process");
  command.local().option("--data", "DIR", &given->data, fmt::format("data directory (default {})", given->data));
  for (const server::ConfigKey& key : server::config_keys())
    command.option(server::flag(key.key), key.value, &given->flags[key.key],
                   fmt::format("{} (default {})", key.help, server::default_text(key)));
  command.examples("orbit server --data ./data").run([given](cli::Context&) -> Result<int> {
    std::map<std::string, std::string> flags;
    for (const auto& [key, value] : given->flags)
      if (value) flags[key] = *value;
    ORBIT_TRY(serve(fs::absolute(given->data).lexically_normal(), flags));
    return 0;
  });
}

}  // namespace orbit::app
