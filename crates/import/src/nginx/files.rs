//! What a site has as a whole, wherever nginx says it: its folder, index documents, lists, types.

use super::location::Read;
use crate::note::{Consequence, Fate};
use crate::spell;
use crate::tree::Directive;
use crate::wanted::{Settings, Value};

impl Read<'_, '_, '_, '_> {
    /// What a site has as a whole.
    pub(super) fn files(&mut self, here: &[&Directive]) {
        for d in here {
            match d.name.as_str() {
                "root" if self.site.head.get("files").is_none() && !d.arg(0).contains('$') => {
                    let mut head = std::mem::take(&mut self.site.head);
                    self.conf.tell(d, (Fate::Carried, Consequence::Nothing));
                    let (folder, remark) = self.conf.draft.folder(d.arg(0), &d.place, &d.shown());
                    let entry = head.set("files", Value::Text(folder.clone()), &d.place);
                    entry.remark = remark;
                    if !folder.starts_with('/') {
                        entry.remark =
                            "FILL-IN: write the whole path; nginx takes it from its own folder".to_owned();
                        self.conf.draft.note(
                            &d.place,
                            &d.shown(),
                            Fate::FillIn,
                            "files: write the whole path",
                        );
                    }
                    self.site.head = head;
                }
                "index" => {
                    let names: Vec<String> = d
                        .args
                        .iter()
                        .filter_map(|n| spell::file_name(n))
                        .filter(|n| !n.contains('$'))
                        .collect();
                    if !names.is_empty() {
                        self.conf.carried(d, "index");
                        self.site.head.set("index", Value::texts(names), &d.place);
                    } else {
                        self.conf.left(d, "file names are expected");
                    }
                }
                "fastcgi_index" => {
                    if let Some(name) =
                        spell::file_name(d.arg(0)).filter(|_| self.site.head.get("index").is_none())
                    {
                        self.site.head.set("index", Value::texts([name, "index.html".to_owned()]), &d.place);
                    }
                    self.conf.carried(d, "index");
                }
                "autoindex" => {
                    let on = d.arg(0) == "on";
                    self.site.head.set("listing", Value::Bool(on), &d.place);
                    self.conf.carried(d, format!("listing = {on}"));
                }
                "gzip_static" | "brotli_static" if d.arg(0) != "off" => {
                    self.site.head.set("precompressed", Value::Bool(true), &d.place);
                    self.conf.carried(d, "precompressed = true");
                }
                "disable_symlinks" => {
                    self.site.head.set("follow_links", Value::Bool(d.arg(0) == "off"), &d.place);
                    self.conf.carried(d, "follow_links; never out of the folder");
                }
                "types" if d.inner.is_some() => self.types(d),
                _ => {}
            }
        }
    }

    fn types(&mut self, d: &Directive) {
        let mut types = match self.site.head.get("types") {
            Some(Value::Table(pairs)) => pairs.clone(),
            _ => Vec::new(),
        };
        for i in d.inner.as_deref().unwrap_or_default() {
            for (extension, media) in
                i.args.iter().filter_map(|e| Some((spell::extension(e)?, spell::media_type(&i.name)?)))
            {
                types.retain(|(known, _)| *known != extension);
                types.push((extension, Value::Text(media)));
            }
        }
        self.conf.carried(d, "types");
        if !types.is_empty() && types.len() < 300 {
            self.site.head.set("types", Value::Table(types), &d.place);
        }
    }

    /// A folder of a location's own: what lies in the site's folder at its path is not what nginx showed there.
    pub(super) fn folder(
        &mut self,
        inner: &[Directive],
        location: &Directive,
        root: Option<&str>,
        whole: bool,
        out: &mut Settings,
    ) {
        for d in inner {
            let path = location.args.last().map_or("", String::as_str).trim_end_matches('/');
            let root = root.unwrap_or("").trim_end_matches('/');
            let own = d.arg(0).trim_end_matches('/');
            match d.name.as_str() {
                "root" if !whole && own != root => {
                    self.conf.close(
                        d,
                        out,
                        &format!("a site has one folder: move {own}{path} below it, then take `deny` out"),
                    );
                }
                "alias" if own == format!("{root}{path}") => {
                    self.conf.carried(d, "its folder is the one that its path leads to anyway");
                }
                "alias" => {
                    let why = format!(
                        "a site has one folder: move {} to {path} below it, then take `deny` out",
                        d.arg(0)
                    );
                    self.conf.close(d, out, &why);
                }
                "index" | "autoindex" if !whole => {
                    self.conf.left(d, "`index` and `listing` hold for a whole site: give the path a site of its own if it matters");
                }
                _ => {}
            }
        }
    }
}
