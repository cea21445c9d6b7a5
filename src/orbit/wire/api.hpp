// The objects of /api/v1: what the server answers, what the CLI prints with -o json, and the source of openapi.json
// (wire/openapi.hpp). Units are in the keys; times are RFC 3339 in UTC with milliseconds; lists are {items,
// next_cursor}. These names are promises others script against: add, never rename.
#pragma once

#include <boost/describe.hpp>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "orbit/base/json.hpp"
#include "orbit/domain/records.hpp"

namespace orbit::wire {

// Every error body (RFC 9457 problem details) with content type application/problem+json.
struct Problem {
  std::string type = "about:blank";
  std::string title;
  std::int32_t status = 500;
  std::string code;                  // ErrorCode's name
  std::string detail;                // one sentence
  std::optional<std::string> field;  // path of the offending key
  std::optional<std::string> hint;   // what to do
};
BOOST_DESCRIBE_STRUCT(Problem, (), (type, title, status, code, detail, field, hint))

template <class T>
struct List {
  std::vector<T> items;
  std::optional<std::string> next_cursor;  // pass as ?cursor= for the next page; null at the end
  BOOST_DESCRIBE_CLASS(List, (), (items, next_cursor), (), ())
};

struct AttemptObject {
  std::string id;
  std::int32_t number = 1;
  AttemptState state = AttemptState::submitted;
  std::optional<Reason> reason;
  std::optional<Blame> blame;
  std::string detail;
  Reachability reachability = Reachability::live;
  ArchiveState archive = ArchiveState::none;
  Desired desired = Desired::run;
  std::string placement;
  std::string launch;
  std::optional<std::string> node;
  std::optional<ResumeFrom> resume;
  std::string created_by;
  WallTime created_at;
  std::optional<WallTime> started_at;
  std::optional<WallTime> ended_at;
  std::optional<std::int64_t> duration_s;  // of the workload, so far or in all
  std::optional<std::int32_t> exit_code;
  std::optional<std::int32_t> signal;
  std::int64_t artifact_count = 0;
  std::int64_t artifact_bytes = 0;
  std::optional<Digest> artifacts_digest;
  std::map<std::string, std::string> environment;  // what its machine was found to have: "python": "3.11.2"
};
BOOST_DESCRIBE_STRUCT(AttemptObject, (),
                      (id, number, state, reason, blame, detail, reachability, archive, desired, placement, launch,
                       node, resume, created_by, created_at, started_at, ended_at, duration_s, exit_code, signal,
                       artifact_count, artifact_bytes, artifacts_digest, environment))

struct RunObject {
  std::string id;
  std::string project;
  std::string name;
  std::optional<std::string> experiment;
  std::vector<std::string> tags;
  std::string task;
  AttemptState state = AttemptState::submitted;  // of the latest attempt
  std::optional<Reason> reason;
  std::optional<std::int32_t> succeeded_attempt;  // the last one that did
  Digest bundle_digest;
  std::string template_id;
  Digest template_digest;
  CodeRevision code;
  EnvironmentProfile environment;
  std::vector<DataFingerprint> data;
  std::map<std::string, json::Value> params;  // typed
  WallTime created_at;
  std::string created_by;
  std::vector<AttemptObject> attempts;
  std::map<std::string, std::string> params_text;  // each as it was written: 0.10 stays 0.10
};
BOOST_DESCRIBE_STRUCT(RunObject, (),
                      (id, project, name, experiment, tags, task, state, reason, succeeded_attempt, bundle_digest,
                       template_id, template_digest, code, environment, data, params, created_at, created_by, attempts,
                       params_text))

// GET /runs/{run}/spec: all that was frozen.
struct RunSpecObject {
  Submission submission;
  Template resolved_from;
  Digest template_digest;
  ExecutionRequest request;
  JobSpec job;
  BundleManifest bundle;
  Digest bundle_digest;
  CodeRevision code;
  EnvironmentProfile environment;
  std::vector<DataFingerprint> data;
  std::string created_by;
  WallTime created_at;  // of a preview: when it was asked for
};
BOOST_DESCRIBE_STRUCT(RunSpecObject, (),
                      (submission, resolved_from, template_digest, request, job, bundle, bundle_digest, code,
                       environment, data, created_by, created_at))

struct ProjectRequest {  // POST /projects, PATCH /projects/{project}: absent members stay as they are
  std::optional<std::string> name;
  std::optional<std::string> description;
  std::optional<std::string> source;
  std::optional<std::string> entry;
  std::map<std::string, std::string> params;
  std::optional<EnvironmentProfile> environment;
  std::vector<std::string> key_files;
  std::optional<std::int64_t> version;  // PATCH: the one you saw; another one is a conflict
};
BOOST_DESCRIBE_STRUCT(ProjectRequest, (), (name, description, source, entry, params, environment, key_files, version))

// POST /runs. Code travels before it as blobs; `files` is the digest of a blob holding their list (a BundleManifest:
// paths below inputs/).
struct SubmitRequest {
  std::optional<std::string> id;  // chosen by the client (a ULID): the same request sent twice makes one run
  Submission submission;
  CodeRevision code;
  Digest files;
  std::vector<DataFingerprint> data;
  std::optional<bool> dry_run;
  // Absent: the project must exist. Else it is made together with the run, or not at all, if there is none of its name.
  std::optional<ProjectRequest> create_project;
};
BOOST_DESCRIBE_STRUCT(SubmitRequest, (), (id, submission, code, files, data, dry_run, create_project))

// Answer to dry_run: what would be frozen, and where it would fit.
struct SubmitPreview {
  RunSpecObject spec;
  std::vector<DataFingerprint> data;
  EnvironmentProfile environment;
  std::string backend;    // "<placement>_<launch mode>"
  std::string placement;  // a sentence: where it would run, or what it would wait for
};
BOOST_DESCRIBE_STRUCT(SubmitPreview, (), (spec, data, environment, backend, placement))

struct RerunRequest {
  std::optional<std::string> target;
};
BOOST_DESCRIBE_STRUCT(RerunRequest, (), (target))
struct ResumeRequest {
  std::optional<std::string> checkpoint;  // path below artifacts/, or its last component; absent: the latest of the
                                          // latest attempt that has one
  std::optional<std::int32_t> attempt;    // whose checkpoint; absent: the latest with one
  std::optional<std::string> target;
};
BOOST_DESCRIBE_STRUCT(ResumeRequest, (), (checkpoint, attempt, target))

struct ExperimentRequest {
  std::string name;
  std::string variable;
  std::string hypothesis;
};
BOOST_DESCRIBE_STRUCT(ExperimentRequest, (), (name, variable, hypothesis))
struct ConcludeRequest {
  std::string conclusion;
};
BOOST_DESCRIBE_STRUCT(ConcludeRequest, (), (conclusion))
struct ExperimentObject {
  Experiment experiment;
  std::vector<RunObject> runs;  // newest first, at most 100
};
BOOST_DESCRIBE_STRUCT(ExperimentObject, (), (experiment, runs))

struct MissingBlobsRequest {
  std::vector<Digest> digests;  // at most 10,000 a call
};
BOOST_DESCRIBE_STRUCT(MissingBlobsRequest, (), (digests))
struct MissingBlobs {
  std::vector<Digest> missing;
};
BOOST_DESCRIBE_STRUCT(MissingBlobs, (), (missing))

struct TokenRequest {
  std::string name;
  std::string role;  // viewer, member, operator, admin
  std::optional<std::int64_t> expires_in_s;
};
BOOST_DESCRIBE_STRUCT(TokenRequest, (), (name, role, expires_in_s))
struct TokenObject {
  std::string id;
  std::string name;
  std::string role;
  WallTime created_at;
  std::string created_by;
  std::optional<WallTime> expires_at;
  std::optional<WallTime> revoked_at;
  std::optional<std::string> token;  // only in the answer that made it
};
BOOST_DESCRIBE_STRUCT(TokenObject, (), (id, name, role, created_at, created_by, expires_at, revoked_at, token))

struct WhoAmI {
  std::string name;
  std::string role;
};
BOOST_DESCRIBE_STRUCT(WhoAmI, (), (name, role))

struct EventObject {
  std::int64_t seq = 0;
  WallTime at;
  EventKind kind = EventKind::attempt_state;
  std::string actor;
  std::optional<std::string> project;
  std::optional<std::string> run;
  std::optional<std::string> attempt;
  std::optional<AttemptState> from;
  std::optional<AttemptState> to;
  std::optional<Reason> reason;
  std::string evidence;
};
BOOST_DESCRIBE_STRUCT(EventObject, (), (seq, at, kind, actor, project, run, attempt, from, to, reason, evidence))

// GET …/logs/{stream} as text/event-stream: events "log" (id: the offset after it) with this as data, then one "end"
// with {"size_bytes": n}. Plain GET answers the bytes with the headers Orbit-Log-Offset, Orbit-Log-Size and
// Orbit-Log-End: true|false.
struct LogChunk {
  std::int64_t offset = 0;
  std::string bytes_base64;  // streams are bytes: they may hold NULs and invalid UTF-8
};
BOOST_DESCRIBE_STRUCT(LogChunk, (), (offset, bytes_base64))

struct QueueItem {
  std::string run;
  std::string project;
  std::string name;
  std::int32_t attempt = 1;
  std::int32_t position = 0;  // 1 is next
  WallTime since;
  std::string waits_for;  // a sentence
};
BOOST_DESCRIBE_STRUCT(QueueItem, (), (run, project, name, attempt, position, since, waits_for))

struct WhyObject {  // S6, R7: why a run is where it is
  std::string run;
  AttemptState state = AttemptState::submitted;
  std::string summary;                // one sentence
  std::vector<std::string> evidence;  // what supports it, newest last
};
BOOST_DESCRIBE_STRUCT(WhyObject, (), (run, state, summary, evidence))

struct VerifyFinding {
  std::string part;     // "bundle", "template", "artifact", "checkpoint", "record"
  std::string subject;  // which file or digest
  std::string problem;
};
BOOST_DESCRIBE_STRUCT(VerifyFinding, (), (part, subject, problem))
struct VerifyReport {
  std::string run;
  bool ok = false;
  std::int64_t bundle_files = 0;
  std::int64_t artifacts = 0;
  std::int64_t bytes = 0;
  std::vector<VerifyFinding> findings;
};
BOOST_DESCRIBE_STRUCT(VerifyReport, (), (run, ok, bundle_files, artifacts, bytes, findings))

struct DiffItem {
  std::string part;  // request, template, code, environment, data, result
  std::string key;
  std::optional<std::string> left;
  std::optional<std::string> right;
};
BOOST_DESCRIBE_STRUCT(DiffItem, (), (part, key, left, right))
struct DiffReport {
  std::string left;
  std::string right;
  std::vector<DiffItem> items;
};
BOOST_DESCRIBE_STRUCT(DiffReport, (), (left, right, items))

struct TemplateObject : Template {
  Digest digest;  // as in a run's template_digest
};
BOOST_DESCRIBE_STRUCT(TemplateObject, (Template), (digest))

struct TaskInputObject {
  std::string kind;  // data, output, text
  bool required = true;
  std::string description;
};
BOOST_DESCRIBE_STRUCT(TaskInputObject, (), (kind, required, description))
struct TaskTypeObject {
  std::string id;
  std::string description;
  std::map<std::string, TaskInputObject> inputs;
  json::Value params_schema;  // JSON Schema of the params
  std::vector<std::string> argv;
  bool needs_entry = true;
  bool ad_hoc = false;  // refused unless the server allows it
};
BOOST_DESCRIBE_STRUCT(TaskTypeObject, (), (id, description, inputs, params_schema, argv, needs_entry, ad_hoc))

// GET /healthz: answers as soon as the server serves.
struct Health {
  std::string status = "ok";
};
BOOST_DESCRIBE_STRUCT(Health, (), (status))

struct BlobObject {  // PUT /blobs/{digest}
  Digest digest;
  std::int64_t size_bytes = 0;
};
BOOST_DESCRIBE_STRUCT(BlobObject, (), (digest, size_bytes))

struct MetricObject {
  std::string name;
  std::int64_t step = 0;
  std::optional<double> value;  // null: not a finite number (NaN, infinity)
  WallTime at;
};
BOOST_DESCRIBE_STRUCT(MetricObject, (), (name, step, value, at))

// GET …/artifacts. While the attempt lives: what lies there now, without digests.
struct ArtifactListObject {
  std::vector<Artifact> items;
  std::optional<std::string> next_cursor;
  bool collected = false;            // the list is the verified manifest and changes no more
  std::vector<std::string> skipped;  // named, not collected: sockets, devices, names that are not valid UTF-8
};
BOOST_DESCRIBE_STRUCT(ArtifactListObject, (), (items, next_cursor, collected, skipped))

struct ServerInfo {
  std::string version;
  std::string database;
  WallTime started_at;
  std::int64_t uptime_s = 0;
  std::int64_t live_attempts = 0;
  std::int64_t leader_epoch = 0;
  std::vector<std::string> backends;
};
BOOST_DESCRIBE_STRUCT(ServerInfo, (), (version, database, started_at, uptime_s, live_attempts, leader_epoch, backends))

}  // namespace orbit::wire

// clang-format off
#define ORBIT_API_TYPES(X) \
  X(wire::Problem) X(wire::AttemptObject) X(wire::RunObject) X(wire::RunSpecObject) X(wire::ProjectRequest) \
  X(wire::SubmitRequest) X(wire::SubmitPreview) X(wire::RerunRequest) X(wire::ResumeRequest) \
  X(wire::ExperimentRequest) X(wire::ConcludeRequest) X(wire::ExperimentObject) X(wire::MissingBlobsRequest) \
  X(wire::MissingBlobs) X(wire::TokenRequest) X(wire::TokenObject) X(wire::WhoAmI) X(wire::EventObject) \
  X(wire::LogChunk) X(wire::QueueItem) X(wire::WhyObject) X(wire::VerifyFinding) X(wire::VerifyReport) \
  X(wire::DiffItem) X(wire::DiffReport) X(wire::TemplateObject) X(wire::TaskInputObject) \
  X(wire::TaskTypeObject) X(wire::Health) X(wire::BlobObject) X(wire::MetricObject) \
  X(wire::ArtifactListObject) X(wire::ServerInfo)
// clang-format on
namespace orbit::json {
ORBIT_API_TYPES(ORBIT_JSON_EXTERN)
}  // namespace orbit::json
