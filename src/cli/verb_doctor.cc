#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/foreign_text.h"
#include "cli/cli.h"
#include "cli/machine_findings.h"
#include "cli/output.h"

namespace pantoum::cli {
namespace {

struct DoctorOptions {
  Common common;
  PlanOptions pages{.page_file = "/var/tmp"};
};

bool stops(const Finding& finding) {
  return !finding.yes && finding.stops_train;
}

nlohmann::ordered_json to_json(const cost::MeterFinding& meter) {
  return {{"word", meter.word}, {"ok", meter.usable}, {"detail", meter.label}, {"mend", meter.help}};
}

nlohmann::ordered_json to_json(const Finding& finding) {
  nlohmann::ordered_json json{{"id", finding.id},         {"what", finding.what},
                              {"ok", finding.yes},        {"stops_train", stops(finding)},
                              {"detail", finding.detail}, {"mend", finding.yes ? "" : finding.mend}};
  for (const cost::MeterFinding& meter : finding.meters) json["meters"].push_back(to_json(meter));
  return json;
}

void print(const cost::MeterFinding& meter) {
  print_formatted("  {:<30} {:<4} {}\n", "--meter " + meter.word, meter.usable ? "yes" : "no",
                  base::one_line(meter.label));
  if (!meter.usable) print_formatted("{:<37} {}\n", "", base::one_line(meter.help));
}

void print_finding(const Finding& finding) {
  print_formatted("{:<32} {:<4} {}\n", base::one_line(finding.what), finding.yes ? "yes" : "no",
                  base::one_line(finding.detail));
  if (!finding.yes)
    print_formatted("{:<37} {}{}\n", "", stops(finding) ? "stops train: " : "", base::one_line(finding.mend));
  for (const cost::MeterFinding& meter : finding.meters) print(meter);
}

Result<int> look(const DoctorOptions& options) {
  const std::vector<Finding> findings =
      findings_of({.page_folder = *options.pages.page_file, .encrypt = options.pages.page_encryption});
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (const Finding& finding : findings) json.push_back(to_json(finding));
  if (options.common.json())
    print_json(json, 1);
  else
    std::for_each(findings.begin(), findings.end(), print_finding);
  return std::any_of(findings.begin(), findings.end(), stops) ? 1 : 0;
}

}  // namespace

void add_doctor(CommandLine& line) {
  auto options = std::make_shared<DoctorOptions>();
  Verb verb =
      line.add_verb("doctor", "what this machine has, and how to mend each no; exits 1 on what would stop train");
  verb.add_settings_of(settings::fields_of(options->pages), {"page_file", "page_encryption"});
  verb.option("--page-file").described("folder where the page file would be").is(Kind::kText);  // what is wrong with it is the answer
  add_common(verb, options->common);
  verb.does([options] { return look(*options); });
}

}  // namespace pantoum::cli
