// U4: what the server answers is what its OpenAPI document says, to the letter: every JSON answer is validated against
// the schema of its operation, with unknown members refused.
#include <valijson/adapters/boost_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validation_results.hpp>
#include <valijson/validator.hpp>

#include <regex>
#include <set>

#include "api_fixture.hpp"

namespace orbit::server {
namespace {

class ApiSchema : public ApiFixture {
 protected:
  ApiSchema() : document_(json_of(get("/api/v1/openapi.json"))) {
    // The document allows more members, as later servers may send them; this server's own must all be in it.
    for (auto& component : document_.at("components").at("schemas").get_object())
      if (component.value().get_object().contains("properties"))
        component.value().get_object()["additionalProperties"] = false;
    times_as_patterns(document_);
  }

  // valijson demands `format` of null too, and knows nothing of our milliseconds: the form of a time is checked by a
  // pattern.
  static void times_as_patterns(json::Value& value) {
    if (value.is_array())
      for (json::Value& item : value.get_array()) times_as_patterns(item);
    if (!value.is_object()) return;
    json::Object& object = value.get_object();
    if (const auto* format = object.if_contains("format"); format != nullptr && *format == "date-time") {
      object.erase("format");
      object["pattern"] = R"(^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$)";
    }
    for (auto& item : object) times_as_patterns(item.value());
  }

  // The operation behind a method and a target.
  const json::Object* operation(const std::string& method, const std::string& target, std::string* id) const {
    const std::string path = target.substr(0, target.find('?'));
    for (const auto& item : document_.at("paths").get_object()) {
      const std::string pattern = std::regex_replace(std::string(item.key()), std::regex(R"(\{[a-z]+\})"), "[^/]+");
      const bool rest = item.key().ends_with("{path}");
      if (!std::regex_match(path, std::regex(rest ? pattern.substr(0, pattern.size() - 5) + ".+" : pattern))) continue;
      if (item.value().get_object().contains(method)) {
        const auto& found = item.value().at(method).get_object();
        *id = std::string(found.at("operationId").get_string());
        // A literal path wins over one with parameters.
        if (item.key() == path) return &found;
        best_ = &found;
      }
    }
    if (best_ != nullptr) *id = std::string(best_->at("operationId").get_string());
    return std::exchange(best_, nullptr);
  }

  void check(const std::string& method, const std::string& target, const net::ClientResponse& response) {
    SCOPED_TRACE(method + " " + target + " -> " + std::to_string(response.status));
    std::string id;
    const json::Object* found = operation(method, target, &id);
    ASSERT_NE(found, nullptr);
    const auto* answer = found->at("responses").get_object().if_contains(std::to_string(response.status));
    ASSERT_NE(answer, nullptr) << "a status that is not documented: " << response.body;
    const auto* content = answer->at("content").get_object().if_contains(response.headers.at("content-type"));
    ASSERT_NE(content, nullptr) << response.headers.at("content-type");
    if (response.status < 300) seen_.insert(id);
    if (response.headers.at("content-type").find("json") == std::string::npos) return;
    json::Array all;
    all.push_back(content->at("schema"));
    const json::Value schema = json::Object{{"allOf", all}, {"components", document_.at("components")}};
    const json::Value body = must(json::parse(response.body));
    valijson::Schema compiled;
    valijson::SchemaParser parser(valijson::SchemaParser::kDraft7);
    const valijson::adapters::BoostJsonAdapter schema_adapter(schema);
    parser.populateSchema(schema_adapter, compiled);
    valijson::Validator validator(valijson::Validator::kStrongTypes);
    valijson::ValidationResults results;
    const valijson::adapters::BoostJsonAdapter body_adapter(body);
    if (validator.validate(compiled, body_adapter, &results)) return;
    std::string text;
    for (valijson::ValidationResults::Error error; results.popError(error);) {
      for (const std::string& part : error.context) text += part;
      text += ": " + error.description + "\n";
    }
    ADD_FAILURE() << text << response.body;
  }
  net::ClientResponse checked(net::Method method, const std::string& target, std::string_view body = {}) {
    const auto response = call(method, target, as(Role::admin), body);
    std::string name(net::to_string(method));
    for (char& c : name) c = static_cast<char>(std::tolower(c));
    check(name, target, response);
    return response;
  }

  json::Value document_;
  std::set<std::string> seen_;  // operations that answered with success
  mutable const json::Object* best_ = nullptr;
};

TEST_F(ApiSchema, EveryJsonAnswerIsAsDocumented) {
  using enum net::Method;
  checked(get, "/healthz");
  for (const char* path : {"/metrics", "/api/v1/openapi.json", "/api/v1/whoami", "/api/v1/server", "/api/v1/templates",
                           "/api/v1/templates/local-host", "/api/v1/task-types", "/api/v1/task-types/training"})
    EXPECT_EQ(checked(get, path).status, 200) << path;

  checked(post, "/api/v1/projects", R"({"name":"p","params":{"lr":"0.1"},"environment":{"any":true,"packages":{}}})");
  checked(patch, "/api/v1/projects/p", R"({"description":"d","version":1})");
  checked(get, "/api/v1/projects?limit=1");
  checked(get, "/api/v1/projects/p");
  checked(post, "/api/v1/projects/digits/experiments", R"({"name":"lr","variable":"lr","hypothesis":"less is more"})");
  checked(get, "/api/v1/experiments?project=digits");

  auto wanted = request();
  wanted.submission.name = "first";
  wanted.submission.experiment = "lr";
  wanted.submission.tags = {"t"};
  wanted.submission.params = {{"lr", "0.5"}, {"who", "\"ada\""}};
  wanted.dry_run = true;
  EXPECT_EQ(checked(post, "/api/v1/runs", json::encode(wanted)).status, 200);
  wanted.dry_run.reset();
  wanted.id = make_id<RunId>(rng_, clock_.now().wall).str();
  EXPECT_EQ(checked(post, "/api/v1/runs", json::encode(wanted)).status, 201);
  EXPECT_EQ(checked(post, "/api/v1/runs", json::encode(wanted)).status, 200) << "the same id makes one run";
  const RunView run = view(must(RunId::parse(*wanted.id)));
  const RunView other = submit_named("second");
  const std::string at = "/api/v1/runs/" + *wanted.id;
  checked(get, "/api/v1/queue");
  checked(get, "/api/v1/projects/digits/experiments/lr");
  checked(post, "/api/v1/projects/digits/experiments/lr/conclude", R"({"conclusion":"it is"})");

  place(run, {{"model.npz", "model"}, {"stdout", "out"}});
  log(run, Stream::stdout_, "out");
  announce(run.attempts.back().id, "checkpoints/step-3", Sha256::of("c"), 1000);
  must(writer_->run([&](const World&, Now) -> Result<Effects> {
    return decide::metrics(run.attempts.back().id, 0, 20,
                           {{"loss", 3, 0.25, WallTime{5}}, {"loss", -1, 2, WallTime{4}}});
  }));
  checked(get, at + "/attempts/1/artifacts");
  succeed(run);
  for (const char* path : {"", "/spec", "/why", "/events", "/attempts/latest/artifacts",
                           "/attempts/1/artifacts/model.npz", "/attempts/1/metrics", "/attempts/1/checkpoints",
                           "/attempts/1/logs/stdout", "/bundle/job.json", "/diff?with=second"})
    EXPECT_EQ(checked(get, at + path).status, 200) << path;
  EXPECT_EQ(checked(post, at + "/verify").status, 200);
  checked(get, "/api/v1/runs?project=digits&limit=1");
  checked(get, "/api/v1/events?limit=2");
  EXPECT_EQ(checked(post, at + "/rerun").status, 201);
  EXPECT_EQ(checked(post, at + "/stop").status, 200);
  EXPECT_EQ(checked(post, at + "/resume", "{}").status, 201);

  checked(post, "/api/v1/blobs/missing", fmt::format(R"({{"digests":["{}"]}})", Sha256::of("zz").hex()));
  EXPECT_EQ(checked(put, "/api/v1/blobs/" + Sha256::of("zz").hex(), "zz").status, 201);

  const auto made = checked(post, "/api/v1/tokens", R"({"name":"ci","role":"viewer","expires_in_s":60})");
  checked(get, "/api/v1/tokens");
  checked(delete_, "/api/v1/tokens/" + text_at(json_of(made), "id"));

  // And refusals.
  checked(get, "/api/v1/runs/nosuch");
  checked(get, "/api/v1/runs?nosuch=1");
  checked(post, at + "/rerun");
  checked(post, "/api/v1/projects", "{");
  checked(put, "/api/v1/blobs/" + Sha256::of("zz").hex(), "other");

  const RouteTable table = api_routes();
  for (const Endpoint& endpoint : table.endpoints())
    EXPECT_TRUE(seen_.contains(endpoint.operation_id)) << endpoint.operation_id << " was never answered with success";
}

TEST_F(ApiSchema, DocumentIsThatOfTheTable) {
  std::set<std::string> ids;
  std::size_t operations = 0;
  for (const auto& path : document_.at("paths").get_object())
    for (const auto& method : path.value().get_object()) {
      ++operations;
      ids.insert(std::string(method.value().at("operationId").get_string()));
      EXPECT_TRUE(method.value().get_object().contains("security")) << path.key();
    }
  EXPECT_EQ(operations, api_routes().endpoints().size());
  EXPECT_EQ(ids.size(), operations) << "operation ids repeat";
  // No reference leads nowhere.
  const std::string text = json::dump(document_);
  const auto& schemas = document_.at("components").at("schemas").get_object();
  const std::regex reference(R"re("\$ref":"#/components/schemas/([A-Za-z]+)")re");
  for (std::sregex_iterator it(text.begin(), text.end(), reference), end; it != end; ++it)
    EXPECT_TRUE(schemas.contains((*it)[1].str())) << (*it)[1];
}

}  // namespace
}  // namespace orbit::server
