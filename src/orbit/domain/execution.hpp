// How and where a run is executed: the two orthogonal enums of R2, templates (R3) and what they resolve to.
#pragma once

#include <boost/describe.hpp>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "orbit/base/digest.hpp"
#include "orbit/base/json.hpp"

namespace orbit {

enum class PlacementKind { local, node, ssh, targon_rental };
BOOST_DESCRIBE_ENUM(PlacementKind, local, node, ssh, targon_rental)
enum class LaunchMode { host_process, docker_image };
BOOST_DESCRIBE_ENUM(LaunchMode, host_process, docker_image)

// "<placement>_<launch mode>", the key of the one registry of backends.
std::string backend_key(PlacementKind placement, LaunchMode mode);

// What an attempt needs of a machine. Absent: no demand.
struct Resources {
  std::int32_t gpus = 0;
  std::optional<std::int64_t> gpu_memory_bytes;  // per GPU; absent with gpus > 0: whole cards
  std::optional<std::int32_t> cpus;
  std::optional<std::int64_t> memory_bytes;
  std::optional<std::int64_t> disk_bytes;    // free space demanded before the start
  std::optional<std::int64_t> time_limit_s;  // the workload is ended after this; reason timeout
};
BOOST_DESCRIBE_STRUCT(Resources, (), (gpus, gpu_memory_bytes, cpus, memory_bytes, disk_bytes, time_limit_s))

// Demands on the software of a machine (N3). `any` must be written out; otherwise at least one demand is present.
// Each value is a version or range as people write them: see domain/version.hpp.
struct EnvironmentProfile {
  bool any = false;
  std::optional<std::string> os;      // "debian 12", "ubuntu20.04"
  std::optional<std::string> python;  // "3.10", ">=3.9,<3.13"
  std::optional<std::string> cuda;
  std::optional<std::string> driver;
  std::map<std::string, std::string> packages;  // distribution name -> version or range; "any" for any version
};
BOOST_DESCRIBE_STRUCT(EnvironmentProfile, (), (any, os, python, cuda, driver, packages))

// A checkpoint is a directory below artifacts/<directory>/ that holds a file named <completion_file> (P3): only then is
// it whole.
struct CheckpointRule {
  std::string directory = "checkpoints";
  std::string completion_file = "COMPLETE";
};
BOOST_DESCRIBE_STRUCT(CheckpointRule, (), (directory, completion_file))

// The values a template fixes and that overrides may change where `allow_overrides` names them.
struct TemplateValues {
  std::optional<std::string> image;
  std::optional<std::string> target;
  bool detach = true;
  Resources resources;
  std::map<std::string, std::string> runtime_env;  // environment variables of the workload
  std::optional<EnvironmentProfile> environment;   // used where neither run nor project declares one
  std::int64_t stop_grace_s = 10;                  // between SIGTERM and SIGKILL
  std::string metrics_file = "metrics.jsonl";      // below artifacts/
  CheckpointRule checkpoints;
};
BOOST_DESCRIBE_STRUCT(TemplateValues, (),
                      (image, target, detach, resources, runtime_env, environment, stop_grace_s, metrics_file,
                       checkpoints))

struct Template {
  std::string id;
  std::string description;
  PlacementKind placement = PlacementKind::local;
  LaunchMode launch = LaunchMode::host_process;
  TemplateValues defaults;
  std::vector<std::string> allow_overrides;  // keys such as resources.gpus; a trailing ".*" allows all below
};
BOOST_DESCRIBE_STRUCT(Template, (), (id, description, placement, launch, defaults, allow_overrides))

// Digest of a template: SHA-256 of its canonical JSON, so that comments and layout of the file do not count.
Digest digest_of(const Template& value);

// What is frozen at submit beside the bundle (R1): the template after resources and overrides.
struct ExecutionRequest {
  PlacementKind placement = PlacementKind::local;
  LaunchMode launch = LaunchMode::host_process;
  TemplateValues values;
};
BOOST_DESCRIBE_STRUCT(ExecutionRequest, (), (placement, launch, values))

}  // namespace orbit

// clang-format off
#define ORBIT_EXECUTION_TYPES(X) \
  X(Resources) X(EnvironmentProfile) X(CheckpointRule) X(TemplateValues) X(Template) X(ExecutionRequest)
// clang-format on
namespace orbit::json {
ORBIT_EXECUTION_TYPES(ORBIT_JSON_EXTERN)
}  // namespace orbit::json
