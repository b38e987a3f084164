// For tests: a data base as another program makes, changes or holds it. What includes this links SQLite.
#pragma once

#include <sqlite3.h>

#include <stdexcept>
#include <string>

namespace pantoum {

class RawSqlite {
 public:
  explicit RawSqlite(const std::string& path) {
    if (sqlite3_open(path.c_str(), &base_) != SQLITE_OK) {
      const std::string why = sqlite3_errmsg(base_);
      sqlite3_close(base_);
      throw std::runtime_error(path + ": " + why);
    }
  }
  RawSqlite(const RawSqlite&) = delete;
  RawSqlite& operator=(const RawSqlite&) = delete;
  ~RawSqlite() { sqlite3_close(base_); }

  RawSqlite& run(const std::string& statements) {
    if (sqlite3_exec(base_, statements.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK)
      throw std::runtime_error(sqlite3_errmsg(base_));
    return *this;
  }

 private:
  sqlite3* base_ = nullptr;
};

}  // namespace pantoum
