#include "orbit/server/attempts.hpp"

#include <algorithm>
#include <unordered_set>

#include "orbit/base/text.hpp"
#include "orbit/decide/lifecycle.hpp"

namespace orbit::server {
namespace {

constexpr std::size_t max_named = 5;

std::string last_component(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

// The furthest first, by the number in the name, else the last announced; each path once.
std::vector<std::string> paths_of(std::vector<CheckpointRecord> all) {
  std::stable_sort(all.begin(), all.end(), [](const CheckpointRecord& a, const CheckpointRecord& b) {
    return a.step.value_or(-1) > b.step.value_or(-1);
  });
  std::vector<std::string> out;
  std::unordered_set<std::string> seen;
  for (const CheckpointRecord& record : all)
    if (seen.insert(record.path).second) out.push_back(record.path);
  return out;
}

// Which of an attempt's checkpoints is meant. Nothing: none of them.
Result<std::optional<CheckpointRecord>> choose(const std::vector<CheckpointRecord>& all,
                                               const std::optional<std::string>& wanted) {
  if (all.empty()) return std::optional<CheckpointRecord>();
  if (!wanted) {
    // The furthest, by the number in its name: several may be announced in one look, in no particular order. Without
    // numbers, the last announced.
    const CheckpointRecord* latest = &all.front();
    for (const CheckpointRecord& record : all)
      if (record.step.value_or(-1) >= latest->step.value_or(-1)) latest = &record;
    return std::optional(*latest);
  }
  std::string path = *wanted;
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  std::vector<const CheckpointRecord*> matches;
  for (const CheckpointRecord& record : all) {
    if (record.path == path) return std::optional(record);
    if (last_component(record.path) == path) matches.push_back(&record);
  }
  if (matches.empty()) return std::optional<CheckpointRecord>();
  if (matches.size() == 1) return std::optional(*matches.front());
  std::vector<std::string> paths;
  for (const CheckpointRecord* match : matches) paths.push_back(match->path);
  return fail(ErrorCode::conflict, fmt::format("'{}' may be any of {}", path, join(paths, ", ")), "checkpoint",
              "name it by its whole path");
}

}  // namespace

AttemptService::AttemptService(control::Writer& writer, ReaderSource readers, BlobStore& blobs,
                               const BackendRegistry& backends, Clock& clock, Rng& rng)
    : writer_(writer), readers_(std::move(readers)), blobs_(blobs), backends_(backends), clock_(clock), rng_(rng) {}

Result<Attempt> AttemptService::add(const Run& run, const std::optional<std::string>& target,
                                    std::optional<ResumeFrom> resume, const std::string& actor) {
  ORBIT_TRY(backends_.find(run.request.placement, run.request.launch));
  if (target && run.request.placement == PlacementKind::local)
    return fail(ErrorCode::invalid_argument,
                "runs of the local placement have no target: the server's own machine is the only one", "target",
                "leave it out");
  if (target) ORBIT_TRY(check_name(*target, "target"));
  if (!blobs_.has(run.bundle))
    return fail(ErrorCode::corrupt, fmt::format("the bundle {} of this run is not there any more", run.bundle.hex()),
                "bundle", "orbit run verify says what is missing");
  ORBIT_TRY_ASSIGN(const auto reader, readers_());
  ORBIT_TRY_ASSIGN(const auto view, reader->run(run.id));
  if (!view) return fail(ErrorCode::not_found, "there is no such run", run.id.str());

  decide::NewAttempt wanted;
  wanted.id = make_id<AttemptId>(rng_, clock_.now().wall);
  for (const Attempt& attempt : view->attempts) wanted.number = std::max(wanted.number, attempt.number + 1);
  wanted.target = target.value_or("");
  wanted.resume = std::move(resume);
  wanted.actor = actor;
  ORBIT_TRY(writer_.run([&](const World& world, Now now) { return decide::add_attempt(world, run, wanted, now); }));
  ORBIT_TRY_ASSIGN(auto attempt, reader->attempt(wanted.id));
  if (!attempt) return fail(ErrorCode::internal, "the attempt was recorded and cannot be read back", wanted.id.str());
  return std::move(*attempt);
}

Result<Attempt> AttemptService::rerun(const RunView& run, const wire::RerunRequest& request, const std::string& actor) {
  return add(run.run, request.target, std::nullopt, actor);
}

Result<Attempt> AttemptService::resume(const RunView& run, const wire::ResumeRequest& request,
                                       const std::string& actor) {
  ORBIT_TRY_ASSIGN(const auto reader, readers_());
  ORBIT_TRY_ASSIGN(const auto view, reader->run(run.run.id));
  if (!view) return fail(ErrorCode::not_found, "there is no such run", run.run.id.str());
  std::vector<Attempt> attempts = view->attempts;
  std::sort(attempts.begin(), attempts.end(), [](const Attempt& a, const Attempt& b) { return a.number > b.number; });
  if (request.attempt) {
    std::erase_if(attempts, [&](const Attempt& attempt) { return attempt.number != *request.attempt; });
    if (attempts.empty())
      return fail(ErrorCode::not_found, fmt::format("run '{}' has no attempt {}", run.run.name, *request.attempt),
                  "attempt", fmt::format("it has {}", view->attempts.size()));
  }
  std::vector<CheckpointRecord> announced;  // newest first
  for (const Attempt& attempt : attempts) {
    ORBIT_TRY_ASSIGN(const auto all, reader->checkpoints(attempt.id));
    ORBIT_TRY_ASSIGN(const auto chosen, choose(all, request.checkpoint));
    if (chosen) return add(run.run, request.target, ResumeFrom{attempt.id, chosen->path, chosen->sha256}, actor);
    announced.insert(announced.end(), all.rbegin(), all.rend());
  }
  std::vector<std::string> known = paths_of(std::move(announced));
  if (known.empty())
    return fail(ErrorCode::not_found,
                request.attempt ? fmt::format("attempt {} announced no checkpoint", *request.attempt)
                                : fmt::format("run '{}' announced no checkpoint", run.run.name),
                "checkpoint", fmt::format("orbit run rerun {} starts it from the beginning", run.run.name));
  const std::string near = nearest(request.checkpoint.value_or(""), known);
  if (known.size() > max_named) known.resize(max_named);
  return fail(ErrorCode::not_found,
              fmt::format("there is no checkpoint '{}'", to_valid_utf8(request.checkpoint.value_or(""))), "checkpoint",
              near.empty() ? "the furthest are " + join(known, ", ") : fmt::format("did you mean '{}'?", near));
}

}  // namespace orbit::server
