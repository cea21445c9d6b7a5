// Carries out a batch's changes inside an open transaction, as few statements as order allows.
//
// Changes are collected by kind and written kind by kind, in the order of the kinds in `Change` (a parent's kind stands
// before its children's). A change that touches a row which an earlier change of a *later* kind touched starts a new
// collection, so that for every row the batch's own order holds. An add may stand before the add of what it refers to.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "orbit/domain/change.hpp"
#include "orbit/store/sql.hpp"

namespace orbit::store {

class BatchWriter {
 public:
  explicit BatchWriter(Sql& sql) : sql_(sql) {}

  // Throws SqlError: `conflict` without naming the culprit (that is explain()'s), others as the database has them.
  void apply(const std::vector<Change>& changes);
  void append(const std::vector<Event>& events);

 private:
  void add(const AddProject& change);
  void add(const UpdateProject& change);
  void add(const AddExperiment& change);
  void add(const ConcludeExperiment& change);
  void add(const AddRun& change);
  void add(const AddAttempt& change);
  void add(const UpdateAttempt& change);
  void add(const AddCheckpoint& change);
  void add(const AddMetrics& change);
  void add(const AddIntent& change);
  void add(const RetryIntent& change);
  void add(const FinishIntent& change);
  void add(const SetTimer& change);
  void add(const DropTimer& change);
  void add(const AddToken& change);
  void add(const RevokeToken& change);
  void flush();

  Sql& sql_;
  std::unordered_map<std::string, std::size_t> touched_;  // row -> highest kind collected for it
};

// What can be said against a batch without looking at the database; throws SqlError.
struct BatchRules {
  static void check(const std::vector<Change>& changes, const std::vector<Event>& events);
};

}  // namespace orbit::store
