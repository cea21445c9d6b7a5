#include "orbit/runner/prechecks.hpp"

#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "orbit/base/text.hpp"
#include "orbit/bundle/bundle.hpp"
#include "orbit/domain/version.hpp"
#include "orbit/platform/files.hpp"
#include "orbit/runner/environment.hpp"
#include "orbit/runner/host_facts.hpp"
#include "orbit/runner/python.hpp"

namespace orbit::runner {
namespace {

namespace fs = std::filesystem;

// With less, not even the logs of a run can be kept.
constexpr std::int64_t disk_floor_bytes = 64 << 20;

class Prechecks {
 public:
  explicit Prechecks(const PrecheckRequest& request) : request_(request) {}

  PrecheckOutcome run() {
    out_.report.at = request_.now;
    bundle_digest();
    read_job();
    if (out_.job) {
      entry(out_.job->entry, "entry");
      if (!out_.job->code_entry.empty()) entry(code_path(out_.job->code_entry), "code entry");
      for (const auto& data : out_.job->data) dataset(data);
    }
    checkpoint();
    variables();
    launch_mode();
    disk();
    processors();
    memory();
    gpu_count();
    if (out_.job) {
      environment(out_.job->environment);
      staged_code_is_imported(out_.job->code_entry);
    }
    nothing_left_out();
    out_.report.ok = !out_.failed;
    return std::move(out_);
  }

 private:
  void item(std::string check, bool ok, std::string wanted, std::string found,
            Reason reason = Reason::precheck_failed) {
    if (!ok && !out_.failed) {
      out_.failed = reason;
      out_.detail = fmt::format("{}: wanted {}, found {}", check, wanted, found);
    }
    out_.report.items.push_back({std::move(check), ok, to_valid_utf8(wanted), to_valid_utf8(found)});
  }

  void bundle_digest() {
    const std::string wanted = request_.order.bundle.hex();
    const auto findings = bundle::verify(request_.directory, request_.order.bundle);
    if (!findings) return item("bundle digest", false, wanted, findings.error().text());
    if (findings->empty()) return item("bundle digest", true, wanted, wanted);
    std::string found = findings->front().path + ": " + findings->front().problem;
    if (findings->size() > 1) found += fmt::format(" (and {} more)", findings->size() - 1);
    item("bundle digest", false, wanted, found);
  }

  void read_job() {
    const auto text = platform::read_file(request_.directory / "job.json", bundle::max_job_bytes);
    if (!text) return item("job.json", false, "a job description", text.error().text());
    auto job = bundle::parse_job(*text);
    if (!job) return item("job.json", false, "a job description", job.error().text());
    out_.job = std::move(*job);
  }

  static std::string code_path(const std::string& code_entry) {
    return code_entry.starts_with("inputs/") ? code_entry : "inputs/code/" + code_entry;
  }

  void entry(const std::string& path, const std::string& check) {
    const std::string wanted = path + ", executable";
    if (auto good = bundle::check_path(path, check); !good) return item(check, false, wanted, good.error().text());
    struct stat stat{};
    const fs::path file = request_.directory / path;
    if (lstat(file.c_str(), &stat) != 0) return item(check, false, wanted, "missing");
    if (!S_ISREG(stat.st_mode)) return item(check, false, wanted, "not a regular file");
    if (access(file.c_str(), X_OK) != 0)
      return item(check, false, wanted,
                  fmt::format("mode {:04o}: not executable; chmod +x it in the source", stat.st_mode & 07777));
    item(check, true, wanted, wanted);
  }

  void dataset(const DataFingerprint& data) {
    const std::string check = "data " + data.input;
    const std::string wanted = fmt::format("{} with digest {}", data.path, data.sha256.hex());
    const auto found = bundle::fingerprint(data.input, data.path);
    if (!found)
      return item(check, false, wanted,
                  found.error().code == ErrorCode::not_found ? data.path + " is missing" : found.error().text());
    const std::string seen = fmt::format("{} with digest {}", data.path, found->sha256.hex());
    const bool same = found->sha256 == data.sha256;
    item(check, same, wanted,
         same ? seen
              : fmt::format("{} ({}, {} bytes; submitted: {}, {} bytes)", seen, counted(found->files, "file"),
                            found->size_bytes, counted(data.files, "file"), data.size_bytes),
         Reason::dataset_changed);
  }

  void checkpoint() {
    if (!request_.order.resume) return;
    const std::string wanted = "digest " + request_.order.resume->sha256.hex();
    const auto files = bundle::list_files(request_.directory / "artifacts", "resume");
    if (!files) return item("checkpoint", false, wanted, files.error().text());
    const Digest found = bundle::digest_of_list(*files);
    item("checkpoint", found == request_.order.resume->sha256, wanted, "digest " + found.hex());
  }

  void variables() {
    auto environment = workload_environment(request_.order, request_.directory);
    if (environment) {
      environment_ = std::move(*environment);
    } else {
      item("environment variables", false, "names of its own", environment.error().text());
    }
  }

  void launch_mode() {
    if (request_.launcher == nullptr)
      return item("launch mode", false, "one that is supported", request_.launcher_error);
    for (auto& each : request_.launcher->precheck(request_.order))
      item(std::move(each.check), each.ok, std::move(each.wanted), std::move(each.found));
  }

  void disk() {
    const std::int64_t wanted = std::max(request_.order.resources.disk_bytes.value_or(0), disk_floor_bytes);
    const auto free = platform::free_bytes(request_.directory);
    if (!free) return item("free disk", false, human_bytes(wanted), free.error().text());
    item("free disk", *free >= wanted, human_bytes(wanted), human_bytes(*free));
  }

  void processors() {
    if (!request_.order.resources.cpus) return;
    cpu_set_t set;
    CPU_ZERO(&set);
    // More processors than the set has room for: ask the system instead.
    const std::int64_t found =
        sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : sysconf(_SC_NPROCESSORS_ONLN);
    item("processors", found >= *request_.order.resources.cpus, std::to_string(*request_.order.resources.cpus),
         std::to_string(found));
  }

  void memory() {
    if (!request_.order.resources.memory_bytes) return;
    const std::int64_t found = static_cast<std::int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE);
    item("memory", found >= *request_.order.resources.memory_bytes, human_bytes(*request_.order.resources.memory_bytes),
         human_bytes(found));
  }

  void gpu_count() {
    const Order& order = request_.order;
    if (order.resources.gpus == 0 && order.gpu_uuids.empty()) return;
    const Gpus found = gpus(request_.machine_root);
    const std::int32_t visible = order.gpu_uuids.empty()
                                     ? found.count
                                     : std::min(found.count, static_cast<std::int32_t>(order.gpu_uuids.size()));
    item("GPUs", visible >= order.resources.gpus, std::to_string(order.resources.gpus), std::to_string(visible));
    if (found.uuids.empty()) return;  // the driver does not tell here
    for (const auto& uuid : order.gpu_uuids)
      item("GPU " + uuid, std::find(found.uuids.begin(), found.uuids.end(), uuid) != found.uuids.end(), "present",
           "GPUs here: " + join(found.uuids, ", "));
  }

  void version(const std::string& check, const std::optional<std::string>& wanted,
               const std::optional<std::string>& found) {
    if (found) out_.report.environment[check] = to_valid_utf8(*found);
    if (!wanted) return;
    if (!found) return item(check, false, *wanted, "none", Reason::environment_mismatch);
    if (*wanted == "any") return item(check, true, *wanted, *found);
    const auto matches = version_matches(*wanted, *found);
    item(check, matches && *matches, *wanted, matches ? *found : *found + " (" + matches.error().text() + ")",
         Reason::environment_mismatch);
  }

  void environment(const EnvironmentProfile& profile) {
    version("os", profile.os, os_version(request_.machine_root));
    version("driver", profile.driver, driver_version(request_.machine_root));
    version("cuda", profile.cuda, cuda_version(request_.machine_root));
    if (!profile.python && profile.packages.empty()) return;
    std::vector<std::string> names;
    for (const auto& [name, wanted] : profile.packages) names.push_back(name);
    const auto facts = python_facts(environment_, names, request_.python_limit_ms);
    if (!facts)
      return item("python", false, profile.python.value_or("any"), facts.error().text(), Reason::environment_mismatch);
    version("python", profile.python.value_or("any"), facts->version);
    for (const auto& [name, wanted] : profile.packages) {
      const auto found = facts->packages.find(name);
      version("package " + name, wanted, found == facts->packages.end() ? std::nullopt : std::optional(found->second));
    }
  }

  // Where no interpreter is found there is nothing it could take for the staged code.
  void staged_code_is_imported(const std::string& code_entry) {
    if (code_entry.empty()) return;
    const auto staged =
        staged_code(environment_, request_.directory / "inputs/code", code_entry, request_.python_limit_ms);
    if (!staged || staged->distribution.empty()) return;
    const std::string wanted = fmt::format("{} imported from the bundle", staged->distribution);
    if (staged->foreign.empty())
      return item(
          "staged code", true, wanted,
          staged->installed ? "imported from the bundle although it is also installed" : "installed nowhere else");
    std::vector<std::string> found;
    for (const auto& module : staged->foreign) found.push_back(fmt::format("{} from {}", module.name, module.origin));
    item("staged code", false, wanted,
         join(found, ", ") + ": uninstall it there, or put PYTHONPATH (relative to the code) into runtime_env");
  }

  // What the bundle asks for is made or the start is refused: an older runner skips nothing in silence.
  void nothing_left_out() {
    const auto text = platform::read_file(request_.directory / bundle::prechecks_path, bundle::max_job_bytes);
    const auto frozen = text ? bundle::parse_prechecks(*text) : fail(text.error());
    if (!frozen) return item("list of checks", false, "a list of checks", frozen.error().text());
    for (const std::string& check : frozen->checks) {
      const auto made = [&](const PrecheckItem& each) { return each.check == check; };
      if (std::none_of(out_.report.items.begin(), out_.report.items.end(), made))
        item(check, false, "checked before the start", "not known to this runner: a newer orbit is needed here");
    }
  }

  const PrecheckRequest& request_;
  PrecheckOutcome out_;
  std::map<std::string, std::string> environment_;
};

}  // namespace

PrecheckOutcome run_prechecks(const PrecheckRequest& request) {
  return Prechecks(request).run();
}

}  // namespace orbit::runner
