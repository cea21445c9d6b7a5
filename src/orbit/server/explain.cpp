#include "orbit/server/explain.hpp"

#include <algorithm>
#include <deque>

#include "orbit/base/text.hpp"
#include "orbit/decide/lifecycle.hpp"

namespace orbit::server {
namespace {

constexpr std::size_t max_events = 12;
constexpr std::size_t max_tail_lines = 10;
constexpr std::size_t tail_bytes = 8 * 1024;
constexpr std::size_t max_shown_bytes = 400;
constexpr std::int32_t events_a_page = 1000;

// For a terminal: what a workload printed must not move the reader's cursor.
std::string harmless(std::string_view text) {
  std::string out = to_valid_utf8(text.substr(0, max_shown_bytes));
  for (char& c : out)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
  for (std::size_t at = out.find("\xC2"); at != std::string::npos; at = out.find("\xC2", at + 1))
    if (at + 1 < out.size() && static_cast<unsigned char>(out[at + 1]) < 0xA0) out.replace(at, 2, "  ");  // C1
  if (text.size() > max_shown_bytes) out += " …";
  return out;
}

std::string words_of(Reason reason, const Attempt& attempt) {
  const std::string exit = attempt.exit_code ? std::to_string(*attempt.exit_code) : "an unknown code";
  const std::string signal = attempt.signal ? std::to_string(*attempt.signal) : "unknown";
  switch (reason) {
    case Reason::completed:
      return "the entry exited with 0" + (attempt.detail.empty() ? std::string() : ", " + attempt.detail);
    case Reason::precheck_failed:
      return "a check before the start failed";
    case Reason::environment_mismatch:
      return "the machine does not have the environment the run asks for";
    case Reason::env_build_failed:
      return "its environment could not be built";
    case Reason::image_pull:
      return "its image could not be had";
    case Reason::dataset_changed:
      return "the data is not what it was when the run was submitted";
    case Reason::start_failed:
      return "it could not be started";
    case Reason::exit_nonzero:
      return "the entry exited with " + exit;
    case Reason::killed_by_signal:
      return "the entry was ended by signal " + signal;
    case Reason::gpu_oom:
      return "the GPU ran out of memory";
    case Reason::host_oom:
      return "the machine ran out of memory";
    case Reason::gpu_lost:
      return "the GPU was lost";
    case Reason::xid_error:
      return "the GPU's driver reported an error";
    case Reason::disk_full:
      return "the disk is full";
    case Reason::timeout:
      return "its time limit was reached";
    case Reason::budget_exceeded:
      return "its budget was reached";
    case Reason::output_missing:
      return "an output it should have made is missing";
    case Reason::collect_failed:
      return "what it left could not be collected or verified";
    case Reason::node_lost:
      return "the place where it ran is gone";
    case Reason::runner_lost:
      return "its runner was lost, so that it cannot be known how it ended";
    case Reason::rental_ended:
      return "the rented machine is gone";
    case Reason::cancelled:
      return "it was stopped" + (attempt.desired_by.empty() ? "" : " by " + harmless(attempt.desired_by));
    case Reason::controller_error:
      return "Orbit itself failed";
  }
  return "?";
}

std::string summary_of_end(const Attempt& attempt) {
  std::string out(json::name_of(attempt.state));
  if (attempt.reason) out += ": " + words_of(*attempt.reason, attempt);
  if (!attempt.detail.empty() && attempt.state != AttemptState::succeeded) out += " (" + harmless(attempt.detail) + ")";
  return out;
}

// Events of one attempt, the newest few.
Result<std::vector<Event>> events_of(const Attempt& attempt, StoreReader& reader) {
  std::deque<Event> kept;
  for (std::int64_t after = 0;;) {
    ORBIT_TRY_ASSIGN(std::vector<Event> page, reader.events(after, events_a_page, attempt.run));
    for (Event& event : page) {
      after = event.seq;
      if (event.attempt != attempt.id || event.kind == EventKind::attempt_checkpoint) continue;
      kept.push_back(std::move(event));
      if (kept.size() > max_events) kept.pop_front();
    }
    if (page.size() < static_cast<std::size_t>(events_a_page))
      return std::vector<Event>(std::make_move_iterator(kept.begin()), std::make_move_iterator(kept.end()));
  }
}

std::string line_of(const Event& event) {
  std::string out = to_rfc3339(event.at) + " ";
  if (event.kind == EventKind::attempt_state && event.from && event.to)
    out += fmt::format("{} → {}", json::name_of(*event.from), json::name_of(*event.to));
  else
    out += json::name_of(event.kind);
  if (!event.evidence.empty()) out += ": " + harmless(event.evidence);
  return out + " (" + harmless(event.actor) + ")";
}

// The last lines of a stream. One that cannot be read is no reason to explain nothing.
std::vector<std::string> last_lines(const AttemptId& attempt, Stream stream, LogStore& logs) {
  const auto size = logs.size(attempt, stream);
  if (!size || *size <= 0) return {};
  const std::int64_t from = std::max<std::int64_t>(0, *size - static_cast<std::int64_t>(tail_bytes));
  const auto bytes = logs.read(attempt, stream, from, tail_bytes);
  if (!bytes) return {};
  std::vector<std::string> lines = split(*bytes, '\n');
  if (from > 0 && lines.size() > 1) lines.erase(lines.begin());  // begins somewhere in a line
  std::vector<std::string> out;
  for (const std::string& line : lines) {
    // A progress bar overwrites itself: what stands at last is what a terminal would show.
    std::string_view shown = line;
    while (shown.ends_with('\r')) shown.remove_suffix(1);
    if (const auto at = shown.rfind('\r'); at != std::string_view::npos) shown.remove_prefix(at + 1);
    if (shown.find_first_not_of(" \t") != std::string_view::npos) out.push_back(harmless(shown));
  }
  if (out.size() > max_tail_lines) out.erase(out.begin(), out.end() - max_tail_lines);
  return out;
}

void add_tail(const AttemptId& attempt, Stream stream, LogStore& logs, std::vector<std::string>& evidence) {
  const auto lines = last_lines(attempt, stream, logs);
  if (lines.empty()) return;
  evidence.push_back(
      fmt::format("last lines of {}:", stream == Stream::execution ? "the execution log" : stream_name(stream)));
  for (const std::string& line : lines) evidence.push_back("  " + line);
}

// Which stream tells why it ended so.
std::optional<Stream> telling_stream(const Attempt& attempt) {
  if (!attempt.reason) return std::nullopt;
  switch (*attempt.reason) {
    case Reason::completed:
    case Reason::cancelled:
      return std::nullopt;
    case Reason::exit_nonzero:
    case Reason::killed_by_signal:
    case Reason::gpu_oom:
    case Reason::host_oom:
    case Reason::output_missing:
    case Reason::timeout:
      return Stream::stderr_;
    default:
      return Stream::execution;
  }
}

struct Live {
  std::string waits_for;
  std::vector<Intent> failing;  // intents that were tried in vain
  bool found = false;
};

Result<Live> look(const AttemptId& id, control::Writer& writer) {
  Live out;
  ORBIT_TRY(writer.inspect([&](const World& world) {
    const LiveAttempt* live = world.find(id);
    if (live == nullptr) return;
    out.found = true;
    out.waits_for = decide::waits_for(world, *live);
    for (const auto& [key, intent] : world.intents)
      if (intent.attempt == id && intent.tries > 0) out.failing.push_back(intent);
  }));
  return out;
}

std::string summary_of_life(const Attempt& attempt, const Live& live) {
  std::string out(json::name_of(attempt.state));
  if (!live.waits_for.empty()) {
    out += ": " + live.waits_for;
  } else if (attempt.state == AttemptState::running) {
    out += attempt.started_at ? " since " + to_rfc3339(*attempt.started_at) : "";
  } else if (attempt.state == AttemptState::collecting) {
    out += ": the workload has ended; logs and artifacts are brought in and verified";
  }
  if (attempt.reachability != Reachability::live)
    out += fmt::format("; the place where it runs is {}", json::name_of(attempt.reachability));
  if (attempt.desired == Desired::stop) out += "; asked to stop by " + harmless(attempt.desired_by);
  return out;
}

}  // namespace

Result<wire::WhyObject> explain(const RunView& run, StoreReader& reader, LogStore& logs, control::Writer& writer) {
  wire::WhyObject out;
  out.run = run.run.id.str();
  const auto latest = std::max_element(run.attempts.begin(), run.attempts.end(),
                                       [](const Attempt& a, const Attempt& b) { return a.number < b.number; });
  if (latest == run.attempts.end())
    return fail(ErrorCode::corrupt, "the run has no attempt", out.run, "orbit run verify");
  out.state = latest->state;
  if (run.attempts.size() > 1) out.evidence.push_back(fmt::format("this is attempt {}", latest->number));
  if (latest->resume) out.evidence.push_back("it starts from checkpoint " + harmless(latest->resume->checkpoint));

  ORBIT_TRY_ASSIGN(const auto events, events_of(*latest, reader));
  for (const Event& event : events) out.evidence.push_back(line_of(event));
  if (is_final(latest->state)) {
    out.summary = summary_of_end(*latest);
    if (latest->result)
      for (const std::string& output : latest->result->missing_outputs)
        out.evidence.push_back("missing output: " + harmless(output));
    if (const auto stream = telling_stream(*latest)) add_tail(latest->id, *stream, logs, out.evidence);
    return out;
  }
  ORBIT_TRY_ASSIGN(const Live live, look(latest->id, writer));
  out.summary = summary_of_life(*latest, live);
  for (const Intent& intent : live.failing)
    out.evidence.push_back(fmt::format("'{}' failed {} time{} so far and is tried again", json::name_of(intent.kind),
                                       intent.tries, intent.tries == 1 ? "" : "s"));
  if (latest->state == AttemptState::starting) add_tail(latest->id, Stream::execution, logs, out.evidence);
  return out;
}

Result<std::vector<wire::QueueItem>> queue_items(StoreReader& reader, control::Writer& writer) {
  struct Waiting {
    RunId run;
    wire::QueueItem item;
  };
  std::vector<Waiting> waiting;
  ORBIT_TRY(writer.inspect([&](const World& world) {
    // Those in the queue come before those not yet accepted into it; both in the order of submission.
    for (const auto* order : {&world.queue, &world.submitted})
      for (const auto& [seq, id] : *order) {
        const LiveAttempt* live = world.find(id);
        if (live == nullptr) continue;
        Waiting next;
        next.run = live->record.run;
        next.item.run = live->record.run.str();
        next.item.project = live->record.project;
        next.item.attempt = live->record.number;
        next.item.position = static_cast<std::int32_t>(waiting.size()) + 1;
        next.item.since = live->record.created_at;
        next.item.waits_for = decide::waits_for(world, *live);
        waiting.push_back(std::move(next));
      }
  }));
  std::vector<wire::QueueItem> out;
  out.reserve(waiting.size());
  for (Waiting& next : waiting) {
    ORBIT_TRY_ASSIGN(const auto view, reader.run(next.run));
    if (view) next.item.name = view->run.name;
    out.push_back(std::move(next.item));
  }
  return out;
}

}  // namespace orbit::server
