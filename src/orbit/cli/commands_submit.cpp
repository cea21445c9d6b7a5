#include "orbit/cli/commands.hpp"
#include "orbit/cli/context.hpp"
#include "orbit/cli/submit.hpp"

namespace orbit::cli {

void add_submit_command(Command& root) {
  auto options = std::make_shared<SubmitOptions>();
  root.add("submit", "Freeze code, data and parameters, and queue a run of them")
      .option("-f,--file", "RUN.YAML", &options->file, "run file that gives what the flags do not")
      .option("-p,--project", "NAME", &options->project, "project the run belongs to")
      .option("--name", "NAME", &options->name, "name of the run, unique in its project; generated unless given")
      .option("--task", "TYPE", &options->task,
              "task type: training, evaluation, collection, command, or one of your own")
      .option("--template", "ID", &options->template_id, "execution template; local-host unless given")
      .option("--experiment", "NAME", &options->experiment, "experiment the run belongs to")
      .option("--tag", "TAG", &options->tags, "tag")
      .option("--param", "KEY=VALUE", &options->params, "parameter of the task")
      .option("--set", "KEY=VALUE", &options->overrides, "override of a template value, where the template allows it")
      .option("--input", "NAME=VALUE", &options->inputs, "input of the task: dataset, output, model …")
      .option("--gpus", "N", &options->gpus, "GPUs")
      .option("--gpu-mem", "SIZE", &options->gpu_memory, "memory per GPU, such as 20GiB; whole cards unless given")
      .option("--cpus", "N", &options->cpus, "CPU cores")
      .option("--memory", "SIZE", &options->memory, "main memory")
      .option("--disk", "SIZE", &options->disk, "free disk space demanded before the start")
      .option("--time-limit", "DURATION", &options->time_limit, "end the run after this: 90s, 15m, 2h30m")
      .option("--env", "any|FILE", &options->environment, "environment profile the run needs")
      .option("--entry", "FILE", &options->entry, "program of the code to start, below the source")
      .option("--source", "DIR|URL", &options->source,
              "folder or git repository with the code; the project's unless given")
      .option("--revision", "COMMIT", &options->revision, "commit, tag or branch of the source")
      .option("--key-file", "PATTERN", &options->key_files, "further file to fingerprint")
      .option("--resume-argument", "FLAG", &options->resume_argument,
              "flag by which the entry is told its checkpoint, such as --resume")
      .flag("--allow-dirty", options->allow_dirty,
            "freeze uncommitted changes, and the patch, instead of refusing them")
      .flag("--create-project", options->create_project, "with -f: make the project if there is none")
      .flag("--dry-run", options->dry_run, "show what would be frozen and where it would fit; record nothing")
      .flag("--follow", options->follow, "watch the run to its end; exits with 0 only if it succeeded, Ctrl-C detaches")
      .takes_rest("COMMAND…", "command line of a task of type command")
      .examples(
          "orbit submit -f examples/digits/run.yaml --follow\n"
          "orbit submit -f run.yaml --param learning_rate=0.01 --name lr-0.01 --tag sweep\n"
          "orbit submit -f run.yaml --gpus 2 --gpu-mem 20GiB --dry-run\n"
          "orbit submit --project digits --env any -- ./prepare.sh --all")
      .run([options](Context& context) { return run_submit(context, *options); });
}

}  // namespace orbit::cli
