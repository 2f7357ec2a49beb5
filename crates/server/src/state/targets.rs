//! The running targets of a configuration: opened roots, pools with their sockets.

use crate::config::{TargetSettings, UpstreamSettings};
use crate::upstream::Upstream;
use samovar_cache::{Cache, Scope};
use samovar_origin::{Change, Files, FilesSettings, Watch};
use std::path::PathBuf;
use std::sync::Arc;

/// A folder of files and the watch over it.
pub struct FilesTarget {
    /// The folder.
    pub files: Arc<Files>,
    /// Its settings.
    pub settings: FilesSettings,
    /// The watch; `None` where none could be set.
    pub watch: Option<Watch>,
    /// What tags of this folder begin with, and what fills made of it are owned by.
    pub tag: Arc<str>,
    /// Its name as it is told.
    pub told: Arc<str>,
}

impl FilesTarget {
    /// Whether changes are told, so that an answer may live until one is.
    pub fn is_watched(&self) -> bool {
        self.watch.as_ref().is_some_and(Watch::healthy)
    }

    /// The tags of an answer made from `rel` for a request of `path`: the file itself, every folder above it (for
    /// when one goes or is replaced), and for an index document or a listing the folder it was chosen in.
    pub fn tags(&self, rel: &str, path: &str) -> Vec<Box<str>> {
        let tag = &self.tag;
        let mut tags: Vec<Box<str>> = vec![format!("root:{tag}").into(), format!("file:{tag}{rel}").into()];
        tags.extend(
            rel.match_indices('/')
                .filter_map(|(at, _)| rel.get(..=at))
                .map(|above| format!("under:{tag}{above}").into()),
        );
        if path.ends_with('/') {
            tags.push(format!("chosen:{tag}{}", folder_of(rel)).into());
        }
        tags
    }

    /// The tag of one file, whether it is there or not.
    pub fn tag_of(&self, rel: &str) -> Box<str> {
        format!("file:{}{rel}", self.tag).into()
    }
}

fn folder_of(rel: &str) -> &str {
    rel.rfind('/').and_then(|at| rel.get(..=at)).unwrap_or("/")
}

/// Scripts of a site, and the application that runs them.
pub struct Scripts {
    /// The application.
    pub app: Arc<Upstream>,
    /// The folder of the scripts as the application sees it.
    pub root: PathBuf,
    /// More parameters.
    pub params: Arc<[(String, String)]>,
}

/// One running target.
pub enum Target {
    /// A folder.
    Files(Arc<FilesTarget>),
    /// An HTTP/1.1 upstream.
    Http(Arc<Upstream>),
    /// A FastCGI application, and what the scripts of its site need.
    FastCgi(Scripts),
}

impl Target {
    /// Opens a target; `upstream` finds the running one of its settings.
    ///
    /// # Errors
    /// If a root cannot be opened; what and why, in words.
    pub fn open(
        settings: &TargetSettings,
        cache: &Arc<Cache>,
        upstream: &mut impl FnMut(&Arc<UpstreamSettings>) -> Arc<Upstream>,
    ) -> Result<Target, String> {
        match settings {
            TargetSettings::Files(s) => {
                let files = Files::new(s.clone())
                    .map_err(|e| format!("open the folder {}: {e}", s.root.display()))?;
                let tag = s.root.to_string_lossy().trim_end_matches('/').to_string();
                let watch = watch(s, &tag, cache);
                Ok(Target::Files(Arc::new(FilesTarget {
                    files,
                    settings: s.clone(),
                    watch,
                    tag: tag.into(),
                    told: format!("files {}", s.root.display()).into(),
                })))
            }
            TargetSettings::Http(s) => Ok(Target::Http(upstream(s))),
            TargetSettings::FastCgi(s) => Ok(Target::FastCgi(Scripts {
                app: upstream(&s.upstream),
                root: s.root.clone(),
                params: Arc::clone(&s.params),
            })),
        }
    }
}

fn watch(settings: &FilesSettings, tag: &str, cache: &Arc<Cache>) -> Option<Watch> {
    let cache = Arc::clone(cache);
    let prefix = tag.to_string();
    let purge = move |tag: String, owner: &str| {
        cache.purge(Scope::Made { tag: &tag, owner }, false);
    };
    let sink = Arc::new(move |changes: Vec<Change>| {
        for change in changes {
            match change {
                Change::Path(rel) => {
                    // The file itself, what was chosen beside it (an index, a listing), and, if it was a folder,
                    // all beneath.
                    purge(format!("file:{prefix}{rel}"), &prefix);
                    purge(format!("chosen:{prefix}{}", folder_of(&rel)), &prefix);
                    purge(format!("chosen:{prefix}{}/", rel.trim_end_matches('/')), &prefix);
                    purge(format!("under:{prefix}{}/", rel.trim_end_matches('/')), &prefix);
                }
                // Something was missed: everything made of this folder goes.
                Change::Rescan => {
                    purge(format!("root:{prefix}"), &prefix);
                }
            }
        }
    });
    match Watch::new(&settings.root, sink) {
        Ok(watch) => Some(watch),
        Err(error) => {
            crate::say!(
                "samovar: cannot watch {}: {error}; its files are looked at once a second instead",
                settings.root.display()
            );
            None
        }
    }
}
