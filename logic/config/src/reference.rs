//! Generates the reference page and the JSON Schema of the config file.

use serde_json::Value;

use crate::root::ROOT;
use crate::schema::page::page;

/// Returns the reference page in Markdown.
pub fn reference() -> String {
    page(INTRODUCTION, &ROOT)
}

/// Returns the JSON Schema (2020-12), for editors that support TOML.
pub fn schema() -> Value {
    crate::schema::json::document(&ROOT)
}

const INTRODUCTION: &str = "\
# Configuration

<!-- Made from logic/config/src/keys. After a change there: WEIR_UPDATE_DOCS=1 cargo test -p weir --test documents -->

Weir reads TOML: one file, or a directory whose `*.toml` files are taken together in the order of their names. What has
a name (`[pool.web]`) may be defined once; `[[route]]`s of several files follow each other. `weir check` proves a config
and prints the plan with every default filled in, `weir explain` says what would become of a request.

```toml
[listener.web]
bind = \"0.0.0.0:80\"
pool = \"web\"

[pool.web]
check = \"GET /health\"
servers = [\"10.0.0.11:8080\", { address = \"10.0.0.12:8080\", weight = 2 }]
```

- Durations are written `\"250ms\"`, `\"2s\"`, `\"5m\"`, `\"1h\"`, `\"7d\"`; sizes `\"512B\"`, `\"64KiB\"`, `\"10MiB\"`, or decimal
  `\"1MB\"`; rates `\"1KiB/s\"`; shares `\"20%\"`.
- Where one or many make sense, a list may be left out: `host = \"a.org\"` is `host = [\"a.org\"]`.
- Names have up to 64 letters, digits and `_ - . :`.
- `${NAME}` within a text is the environment variable of that name, `${NAME:-default}` has a default, `$${` is a literal
  `${`. A text of one variable may also stand for a number or for `true` and `false`.
- An unknown key is an error.
";
