//! Changes of the configuration while the server runs: whole or not at all; cache and sockets stay.

use super::{Shared, Snapshot, Source, lock};
use crate::config::{self, AccessLog, Listen, Loaded, Settings};
use crate::log::Destination;
use crate::operator_files::{self, Edit};
use samovar_cache::Settings as CacheSettings;
use std::path::Path;
use std::sync::Arc;

/// What the command line said, which outlives every reload of the file.
#[derive(Clone, Debug, Default)]
pub struct Overrides {
    /// `--listen`, if given.
    pub listen: Vec<Listen>,
    /// `--admin`: `None` not given, `Some(None)` for `off`.
    pub admin: Option<Option<Listen>>,
    /// `--workers`.
    pub workers: Option<usize>,
    /// `--access-log`.
    pub access_log: Option<AccessLog>,
    /// `--log-format`.
    pub log_format: Option<config::LogFormat>,
    /// `--memory`, bytes.
    pub memory_bytes: Option<u64>,
}

impl Overrides {
    /// Puts them over a configuration.
    pub fn apply(&self, settings: &mut Settings) {
        if !self.listen.is_empty() {
            settings.server.listen.clone_from(&self.listen);
        }
        if let Some(admin) = &self.admin {
            settings.server.admin.clone_from(admin);
        }
        if self.workers.is_some() {
            settings.server.workers = self.workers;
        }
        if let Some(access) = &self.access_log {
            settings.log.access = access.clone();
        }
        if let Some(format) = self.log_format {
            settings.log.format = format;
        }
        if let Some(bytes) = self.memory_bytes {
            settings.memory.size_bytes = bytes;
            if settings.memory.entry_max_follows {
                settings.memory.entry_max_bytes = bytes / 8;
            }
            settings.memory.from = config::Budget::CommandLine;
        }
    }
}

/// How a cache is sized by these settings.
pub fn cache_settings(settings: &Settings) -> CacheSettings {
    CacheSettings { size_bytes: settings.memory.size_bytes, body_max_bytes: settings.memory.entry_max_bytes }
}

/// Where the access log goes by these settings.
pub fn destination(settings: &Settings) -> Destination {
    match &settings.log.access {
        AccessLog::Off => Destination::Off,
        AccessLog::Stderr => Destination::Stderr,
        AccessLog::File(path) => Destination::File(path.clone()),
    }
}

/// What becomes of changes to the file that were not in force when it is edited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Others {
    /// They come into force with the edit.
    Taken,
    /// They wait in the file for a reload.
    Wait,
}

impl Shared {
    /// Reads the file again and puts it in force. What people should look at comes back.
    ///
    /// # Errors
    /// The report of what is wrong; the configuration in force stays.
    pub fn reload(self: &Arc<Self>) -> Result<Vec<String>, String> {
        let mut source = lock(&self.source);
        let Some(path) = source.path.clone() else {
            return Err("the server was started without a configuration file: there is nothing to reload\n\
                        hint: start it with `samovar serve --config FILE`; rules can be changed with `samovar rule`"
                .to_string());
        };
        let loaded = config::load(&path).map_err(|report| report.to_string())?;
        let warnings = self.take(&mut source, loaded)?;
        Ok(warnings)
    }

    /// Changes the text (and the file, if there is one) by `edit`, and puts it in force. If anything fails,
    /// file and configuration stay as they were. If the file was changed by others since it was read, `others` says what
    /// becomes of that, and the warnings tell it.
    ///
    /// # Errors
    /// In words.
    pub fn edit(
        self: &Arc<Self>,
        others: Others,
        edit: impl Fn(&str) -> Result<String, String>,
    ) -> Result<Vec<String>, String> {
        let mut source = lock(&self.source);
        // Other processes may run by the same file, and change it, too.
        let path = source.path.clone();
        let file = path.as_deref().map(|path| operator_files::edit(path).map(|file| (file, path)));
        let file = file.transpose()?;
        let (before, name) = match &file {
            // The change goes on top of what is there now.
            Some((file, path)) => (read(file, path)?, path.display().to_string()),
            None => (source.text.clone(), "(command line)".to_string()),
        };
        let after = edit(&before)?;
        let changed = before != source.text;
        let (in_force, back) = match others {
            Others::Wait if changed => (edit(&source.text)?, source.text.clone()),
            _ => (after.clone(), before),
        };
        let loaded = config::parse(&in_force, &name).map_err(|report| report.to_string())?;
        let mut trial = source.clone();
        let mut warnings = self.take(&mut trial, loaded)?;
        if let Some((file, path)) = &file
            && let Err(error) = file.replace(&after)
        {
            // What is in force must be what the file says.
            if let Ok(old) = config::parse(&back, &name) {
                self.take(&mut trial, old)?;
            }
            return Err(format!("write {}: {error}\nhint: the change was taken back", path.display()));
        }
        *source = trial;
        source.text = in_force;
        warnings.extend(file.as_ref().and_then(|(file, _)| file.unlocked()).map(|error| {
            format!("the folder of {name} cannot be locked ({error}): of two changes at the same time one may be lost")
        }));
        warnings.extend(file.is_none().then(|| {
            "the server was started without a configuration file: the change is in memory only, and gone at the next start\n\
             hint: write it to a file, and start with `samovar serve --config FILE`"
                .to_owned()
        }));
        warnings.extend(changed.then(|| match others {
            Others::Wait => format!(
                "{name} holds other changes, which are not in force: `samovar check` says whether they are right, \
                 `samovar reload` takes them"
            ),
            Others::Taken => format!("{name} held other changes, which are in force now, too"),
        }));
        Ok(warnings)
    }

    fn take(self: &Arc<Self>, source: &mut Source, loaded: Loaded) -> Result<Vec<String>, String> {
        let mut warnings: Vec<String> = Vec::new();
        if !loaded.warnings.is_empty() {
            warnings.push(loaded.warnings().to_string());
        }
        let mut settings = loaded.settings;
        self.overrides.apply(&mut settings);
        settings.can_speak_tls()?;
        let current = self.snapshot();
        let (old, new) = (&current.settings.server, &settings.server);
        if old.listen != new.listen || old.admin != new.admin || old.workers != new.workers {
            warnings.push("`listen`, `admin` and `workers` take effect at the next start".to_string());
        }
        warnings.extend(crate::front::too_few_files(&settings));
        let snapshot = Snapshot::build(settings, current.epoch + 1, Some(&current), &self.cache)?;
        self.access_log.redirect(destination(&snapshot.settings))?;
        self.cache.resize(cache_settings(&snapshot.settings));
        source.text = loaded.text;
        self.replace(snapshot);
        Ok(warnings)
    }
}

fn read(edit: &Edit, path: &Path) -> Result<String, String> {
    let bytes = edit.read(config::FILE_MAX_BYTES as u64);
    let text = bytes.and_then(|bytes| String::from_utf8(bytes).map_err(std::io::Error::other));
    text.map_err(|e| format!("read {}: {e}", path.display()))
}
