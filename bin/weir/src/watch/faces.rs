//! Where figures go for programs: files, lines of JSON, Prometheus.

use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};

use weir_admin::TextHttp;
use weir_lab::watch::{CONTENT_TYPE, CsvFiles, Moment, exposition};

use super::WatchArgs;

/// All that were asked for.
pub(super) struct Faces {
    files: Option<CsvFiles>,
    json: bool,
    /// What Prometheus gets.
    exposed: Option<Arc<Mutex<String>>>,
}

impl Faces {
    pub(super) fn open(args: &WatchArgs) -> Result<Self, String> {
        let files = args.output.as_ref().map(|directory| CsvFiles::new(directory, args.figures));
        let exposed = args.listen.map(|address| {
            let exposed = Arc::new(Mutex::new(String::new()));
            let text = Arc::clone(&exposed);
            let answer = move || text.lock().unwrap_or_else(PoisonError::into_inner).clone();
            let http = TextHttp::bind(address, "/metrics", CONTENT_TYPE, Box::new(answer))?;
            eprintln!("weir watch: http://{}/metrics", http.local_address()?);
            http.spawn()?;
            Ok::<_, io::Error>(exposed)
        });
        Ok(Self {
            files: files.transpose().map_err(|cause| cause.to_string())?,
            json: args.json,
            exposed: exposed.transpose().map_err(|cause| cause.to_string())?,
        })
    }

    pub(super) fn show(&mut self, moment: &Moment) -> Result<(), String> {
        if let Some(files) = &mut self.files {
            files.write(moment).map_err(|cause| cause.to_string())?;
        }
        if self.json {
            let written = writeln!(io::stdout().lock(), "{}", moment.to_json());
            written.map_err(|cause| format!("standard output: {cause}"))?;
        }
        if let Some(exposed) = &self.exposed {
            *exposed.lock().unwrap_or_else(PoisonError::into_inner) = exposition(moment);
        }
        Ok(())
    }
}
