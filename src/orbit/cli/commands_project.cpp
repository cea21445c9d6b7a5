// project create|ls|show|set and experiment create|ls|show|conclude.
#include <ostream>

#include "orbit/base/text.hpp"
#include "orbit/cli/api.hpp"
#include "orbit/cli/commands.hpp"
#include "orbit/cli/context.hpp"
#include "orbit/cli/project_change.hpp"
#include "orbit/cli/views.hpp"

namespace orbit::cli {
namespace {

std::optional<std::string> number_text(const std::optional<std::int64_t>& number) {
  return number ? std::optional(std::to_string(*number)) : std::nullopt;
}

void show_project(Context& context, const Project& project) {
  Fields fields;
  fields.add("project", project.name, Colour::bold);
  fields.add("description", project.description);
  fields.add("source", project.source.value_or(""));
  fields.add("entry", project.entry.value_or(""));
  for (const auto& [key, value] : project.params) fields.add("param " + escape(key), value);
  if (project.environment) fields.add("environment", describe_environment(*project.environment));
  fields.add("key files", join(project.key_files, ", "));
  fields.add("created", fmt::format("{} by {}", to_rfc3339(project.created_at), project.created_by));
  fields.add("version", std::to_string(project.version));
  context.out << fields.text(context.terminal.colour_out);
}

void take_change(Command& command, ProjectChange& change) {
  command.option("--description", "TEXT", &change.description, "what it is about")
      .option("--source", "DIR|URL", &change.source, "folder or git repository with the code")
      .option("--entry", "FILE", &change.entry, "program to start, below the source")
      .option("--param", "KEY=VALUE", &change.params, "default parameters; replaces all of them")
      .option("--env", "any|FILE", &change.environment, "environment profile of runs that declare none")
      .option("--key-file", "PATTERN", &change.key_files,
              "files to fingerprint beside entry and lock file; replaces all");
}

Result<int> project_create(Context& context, const ProjectChange& change) {
  ORBIT_TRY_ASSIGN(const std::string body, project_body(change, std::nullopt));
  ORBIT_TRY_ASSIGN(const auto api, context.api());
  return show_one<Project>(context, api->send(net::Method::post, api_path({"projects"}), body),
                           [&](const Project& project) { show_project(context, project); });
}

Result<int> project_set(Context& context, const ProjectChange& change) {
  if (change.empty())
    return fail(ErrorCode::invalid_argument, "nothing to change is given", {}, "see orbit project set --help");
  ORBIT_TRY_ASSIGN(const auto api, context.api());
  const std::string target = api_path({"projects", change.name});
  ORBIT_TRY_ASSIGN(const auto seen, api->get_as<Project>(target));
  ORBIT_TRY_ASSIGN(const std::string body, project_body(change, seen.version));  // of two at a time, one is told
  return show_one<Project>(context, api->send(net::Method::patch, target, body),
                           [&](const Project& project) { show_project(context, project); });
}

Result<int> project_ls(Context& context, const PageOptions& args) {
  std::vector<Project> projects;
  const auto target = [](const PageOptions& page) {
    return api_path({"projects"}) + query({{"limit", number_text(page.limit)}, {"cursor", page.cursor}});
  };
  return show_list(context, target, args, into(projects), [&] {
    if (projects.empty()) {
      context.note("no projects yet: orbit project create NAME makes one");
      return;
    }
    Table table({{"NAME", false, true},
                 {"SOURCE", false, true},
                 {"CREATED"},
                 {"BY", false, true},
                 {"DESCRIPTION", false, true}});
    for (const Project& project : projects)
      table.add({{project.name},
                 {project.source.value_or("")},
                 {ago(project.created_at, context.now())},
                 {project.created_by},
                 {project.description}});
    table.print(context.out, context.terminal);
  });
}

struct ExperimentArgs {
  std::string project, name;
  wire::ExperimentRequest request;
  wire::ConcludeRequest conclusion;
  PageOptions page;
  std::optional<std::string> only_project;
};

void show_experiment(Context& context, const Experiment& experiment) {
  Fields fields;
  fields.add("experiment", experiment.name, Colour::bold);
  fields.add("project", experiment.project);
  fields.add("variable", experiment.variable);
  fields.add("hypothesis", experiment.hypothesis);
  fields.add("conclusion", experiment.conclusion.value_or(""));
  fields.add("created", fmt::format("{} by {}", to_rfc3339(experiment.created_at), experiment.created_by));
  fields.add("concluded", experiment.concluded_at ? to_rfc3339(*experiment.concluded_at) : std::string());
  context.out << fields.text(context.terminal.colour_out);
}

void take_experiment(Command& command, ExperimentArgs& args) {
  command.positional("name", &args.name, "name of the experiment");
  command.option("-p,--project", "NAME", &args.project, "its project");
}

Result<std::vector<std::string>> experiment_path(const ExperimentArgs& args) {
  if (args.project.empty())
    return fail(ErrorCode::invalid_argument, "is missing", "--project", "experiments belong to a project");
  return std::vector<std::string>{"projects", args.project, "experiments"};
}

Result<int> experiment_create(Context& context, const ExperimentArgs& args) {
  ORBIT_TRY_ASSIGN(const auto path, experiment_path(args));
  wire::ExperimentRequest request = args.request;
  request.name = args.name;
  ORBIT_TRY_ASSIGN(const auto api, context.api());
  return show_one<Experiment>(context, api->send(net::Method::post, api_path(path), json::encode(request)),
                              [&](const Experiment& experiment) { show_experiment(context, experiment); });
}

Result<int> experiment_show(Context& context, const ExperimentArgs& args) {
  ORBIT_TRY_ASSIGN(auto path, experiment_path(args));
  path.push_back(args.name);
  ORBIT_TRY_ASSIGN(const auto api, context.api());
  return show_one<wire::ExperimentObject>(context, api->get(api_path(path)), [&](const wire::ExperimentObject& object) {
    show_experiment(context, object.experiment);
    context.out << "\n";
    if (object.runs.empty())
      context.out << "no runs yet: orbit submit --experiment " << escape(object.experiment.name) << "\n";
    else
      context.out << run_table(object.runs, context.now(), context.terminal);
  });
}

Result<int> experiment_conclude(Context& context, const ExperimentArgs& args) {
  ORBIT_TRY_ASSIGN(auto path, experiment_path(args));
  path.push_back(args.name);
  path.emplace_back("conclude");
  ORBIT_TRY_ASSIGN(const auto api, context.api());
  return show_one<Experiment>(context, api->send(net::Method::post, api_path(path), json::encode(args.conclusion)),
                              [&](const Experiment& experiment) { show_experiment(context, experiment); });
}

Result<int> experiment_ls(Context& context, const ExperimentArgs& args) {
  std::vector<Experiment> experiments;
  const auto target = [&](const PageOptions& page) {
    return api_path({"experiments"}) +
           query({{"project", args.only_project}, {"limit", number_text(page.limit)}, {"cursor", page.cursor}});
  };
  return show_list(context, target, args.page, into(experiments), [&] {
    if (experiments.empty()) {
      context.note("no experiments");
      return;
    }
    Table table({{"NAME", false, true},
                 {"PROJECT", false, true},
                 {"VARIABLE", false, true},
                 {"CREATED"},
                 {"CONCLUSION", false, true}});
    for (const Experiment& experiment : experiments)
      table.add({{experiment.name},
                 {experiment.project},
                 {experiment.variable},
                 {ago(experiment.created_at, context.now())},
                 {experiment.conclusion.value_or("open")}});
    table.print(context.out, context.terminal);
  });
}

}  // namespace

void add_project_commands(Command& root) {
  Command& project = root.add("project", "Projects: code, defaults, runs");
  auto create = std::make_shared<ProjectChange>();
  Command& create_command = project.add("create", "Make a project");
  create_command.positional("name", &create->name, "its name");
  take_change(create_command, *create);
  create_command.examples("orbit project create digits --source ./examples/digits --entry train.py --env any")
      .run([create](Context& context) { return project_create(context, *create); });

  auto list = std::make_shared<PageOptions>();
  project.add("ls", "List projects")
      .option("--limit", "N", &list->limit, "how many at most; 100 unless given")
      .option("--cursor", "CURSOR", &list->cursor, "go on after a page (next_cursor of -o json)")
      .run([list](Context& context) { return project_ls(context, *list); });

  auto show = std::make_shared<std::string>();
  project.add("show", "Show a project")
      .positional("name", show.get(), "its name")
      .run([show](Context& context) -> Result<int> {
        ORBIT_TRY_ASSIGN(const auto api, context.api());
        return show_one<Project>(context, api->get(api_path({"projects", *show})),
                                 [&](const Project& found) { show_project(context, found); });
      });

  auto set = std::make_shared<ProjectChange>();
  Command& set_command = project.add("set", "Change a project's defaults; runs that exist keep theirs");
  set_command.positional("name", &set->name, "its name");
  take_change(set_command, *set);
  set_command.run([set](Context& context) { return project_set(context, *set); });

  Command& experiment =
      root.add("experiment", "Experiments: groups of runs with a variable, a hypothesis, a conclusion");
  auto made = std::make_shared<ExperimentArgs>();
  Command& make = experiment.add("create", "Make an experiment");
  take_experiment(make, *made);
  make.option("--variable", "TEXT", &made->request.variable, "what is varied")
      .option("--hypothesis", "TEXT", &made->request.hypothesis, "what is expected")
      .examples("orbit experiment create lr -p digits --variable learning_rate --hypothesis \"0.1 is too fast\"")
      .run([made](Context& context) { return experiment_create(context, *made); });

  auto listed = std::make_shared<ExperimentArgs>();
  experiment.add("ls", "List experiments")
      .option("-p,--project", "NAME", &listed->only_project, "only those of this project")
      .option("--limit", "N", &listed->page.limit, "how many at most; 100 unless given")
      .option("--cursor", "CURSOR", &listed->page.cursor, "go on after a page (next_cursor of -o json)")
      .run([listed](Context& context) { return experiment_ls(context, *listed); });

  auto shown = std::make_shared<ExperimentArgs>();
  Command& show_experiment_command = experiment.add("show", "Show an experiment and its runs");
  take_experiment(show_experiment_command, *shown);
  show_experiment_command.run([shown](Context& context) { return experiment_show(context, *shown); });

  auto concluded = std::make_shared<ExperimentArgs>();
  Command& conclude = experiment.add("conclude", "Write down what came of an experiment; once");
  take_experiment(conclude, *concluded);
  conclude.positional("conclusion", &concluded->conclusion.conclusion, "what came of it")
      .examples("orbit experiment conclude lr -p digits \"0.01 is best\"")
      .run([concluded](Context& context) { return experiment_conclude(context, *concluded); });
}

}  // namespace orbit::cli
