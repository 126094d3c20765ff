// What is refused of a job file, and where it is told.
#include "base/json/json.hpp"
#include "base/text.hpp"
#include "jobspec/detail/job_dialect.hpp"
#include "tests/job_text.hpp"

namespace underway::jobspec {
namespace {

TEST(Refused, NamesAreRefusedWithTheirReasonAndNeverDescribed) {
  const std::map<std::string_view, const describe::Structure*> structures = {
      {"job", &describe::structure_of<model::Job>()},
      {"task", &describe::structure_of<model::Task>()},
      {"service", &describe::structure_of<model::Service>()}};
  const auto around = [](std::string_view structure, const std::string& text) {
    if (structure == "job") return job(text);
    if (structure == "task") return job("", "", text);
    return job("", "service {\n" + text + "\n}");
  };
  for (const auto& name : detail::refused_names()) {
    SCOPED_TRACE(fmt::format("{}.{}", name.structure, name.hcl));
    const auto* structure = structures.at(name.structure);
    EXPECT_EQ(structure->find_json(name.json), nullptr);
    EXPECT_EQ(structure->find_hcl(name.hcl), nullptr);
    for (const char* form : {"{} = 1", "{} {{\n a = 1\n}}", "{} \"label\" {{\n b {{}}\n}}"}) {
      const auto got = errors_of(around(name.structure, fmt::format(fmt::runtime(form), name.hcl)));
      EXPECT_EQ(split(got, '\n').at(0), fmt::format("error: `{}` is not supported", name.hcl)) << got;
      EXPECT_NE(got.find(name.why), std::string::npos) << got;
    }
  }
}

TEST(Refused, NamesOnTheWireAreRefusedUnlessEmpty) {
  const auto plain = json::to_value(accept(job("", "service {\n  name = \"s\"\n}")));
  for (const auto& name : detail::refused_names()) {
    SCOPED_TRACE(fmt::format("{}.{}", name.structure, name.json));
    auto with = plain;
    auto& group = with.at("TaskGroups").at(0);
    auto& object = name.structure == "job"    ? with.as_object()
                   : name.structure == "task" ? group.at("Tasks").at(0).as_object()
                                              : group.at("Services").at(0).as_object();
    object[name.json] = nullptr;
    EXPECT_EQ(job_from_json(with).id, "j");
    object[name.json] = {{"Anything", 1}};
    try {
      job_from_json(with);
      ADD_FAILURE() << "accepted";
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), Code::invalid);
      ASSERT_EQ(e.reasons().size(), 1u);
      EXPECT_NE(e.reasons()[0].find(fmt::format("{}: {}", name.json, name.why)), std::string::npos) << e.reasons()[0];
    }
  }
}

TEST(Errors, AreAllReportedAtTheirPlaces) {
  EXPECT_EQ(errors_of("job \"web\" {\n"
                      "  prioriti = 50\n"
                      "  type = \"servce\"\n"
                      "  multiregion {\n    strategy {}\n  }\n"
                      "  group \"g\" {\n"
                      "    count = \"two\"\n"
                      "    task \"t\" {\n"
                      "      kill_timeout = \"5 s\"\n"
                      "      artifact {}\n"
                      "    }\n  }\n}\n"),
            "error: unknown attribute 'prioriti' in job\n"
            "  at:    j.hcl:2:3\n"
            "       2 |   prioriti = 50\n"
            "         |   ^^^^^^^^\n"
            "  do:    write 'priority'\n"
            "error: 'type' must be one of service, batch, system, sysbatch\n"
            "  at:    j.hcl:3:10\n"
            "       3 |   type = \"servce\"\n"
            "         |          ^^^^^^^^\n"
            "  why:   it is \"servce\"\n"
            "  do:    write 'service'\n"
            "error: `multiregion` is not supported\n"
            "  at:    j.hcl:4:3\n"
            "       4 |   multiregion {\n"
            "         |   ^^^^^^^^^^^\n"
            "  why:   it is for several regions at once; there is one region here\n"
            "  do:    remove `multiregion`\n"
            "error: 'count' must be an integer\n"
            "  at:    j.hcl:8:13\n"
            "       8 |     count = \"two\"\n"
            "         |             ^^^^^\n"
            "  why:   it is \"two\"\n"
            "error: the attribute 'driver' is required in task\n"
            "  at:    j.hcl:9:5\n"
            "       9 |     task \"t\" {\n"
            "         |     ^^^^^^^^\n"
            "  do:    add 'driver = …'\n"
            "error: 'kill_timeout' must be a duration like \"30s\" or \"1h15m\"\n"
            "  at:    j.hcl:10:22\n"
            "      10 |       kill_timeout = \"5 s\"\n"
            "         |                      ^^^^^\n"
            "  why:   it is \"5 s\"\n"
            "error: the attribute 'source' is required in artifact\n"
            "  at:    j.hcl:11:7\n"
            "      11 |       artifact {}\n"
            "         |       ^^^^^^^^\n"
            "  do:    add 'source = …'\n");
}

TEST(Errors, OfValidationStandAtTheirBlock) {
  EXPECT_EQ(errors_of("job \"web\" {\n  group \"g\" {\n    task \"t\" {\n      driver = \"exec\"\n"
                      "      resources {\n        memory = 1\n      }\n    }\n  }\n  priority = 1000\n}\n"),
            "error: priority = 1000 is not between 1 and 100\n"
            "  at:    j.hcl:1:1\n"
            "       1 | job \"web\" {\n"
            "         | ^^^^^^^^^\n"
            "error: group 'g' task 't': memory = 1 is below 10 MiB\n"
            "  at:    j.hcl:3:5\n"
            "       3 |     task \"t\" {\n"
            "         |     ^^^^^^^^\n");
}

TEST(Errors, OfADriversConfigStandAtTheirKey) {
  Inputs inputs;
  inputs.limits.check_config = [](const model::Task& task) -> std::vector<std::string> {
    EXPECT_EQ(task.driver, "exec");
    return {"config.ulimit: is not known; did you mean 'ulimits'?", "config.mount.type: 'x' cannot be had",
            "config.command: is required"};
  };
  const auto text = job("", "", "config {\n  ulimit = {}\n  mount {\n    type = \"x\"\n  }\n}");
  EXPECT_EQ(errors_of(text, inputs),
            "error: group 'g' task 't': config.command: is required\n"
            "  at:    j.hcl:5:1\n"
            "       5 | task \"t\" {\n"
            "         | ^^^^^^^^\n"
            "error: group 'g' task 't': config.ulimit: is not known; did you mean 'ulimits'?\n"
            "  at:    j.hcl:8:3\n"
            "       8 |   ulimit = {}\n"
            "         |   ^^^^^^\n"
            "error: group 'g' task 't': config.mount.type: 'x' cannot be had\n"
            "  at:    j.hcl:9:3\n"
            "       9 |   mount {\n"
            "         |   ^^^^^\n");
  inputs.limits.check_config = {};
  EXPECT_EQ(accept(text, inputs).groups.size(), 1U) << "nobody knows the driver";
}

TEST(Errors, CoverFilesWithoutExactlyOneJob) {
  EXPECT_NE(errors_of("").find("the file declares no job"), std::string::npos);
  EXPECT_NE(errors_of("job \"a\" {}\njob \"b\" {}\n").find("a second job in one file"), std::string::npos);
  EXPECT_NE(errors_of("jobb \"a\" {}\n").find("write 'job'"), std::string::npos);
  EXPECT_NE(errors_of("job {}\n").find("job"), std::string::npos);
  EXPECT_NE(errors_of("job \"a\" {").find("j.hcl:1:"), std::string::npos);
}

}  // namespace
}  // namespace underway::jobspec
