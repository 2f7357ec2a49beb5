//! The page of a listing: values in, HTML out.
//!
//! Works without JavaScript: the column heads are links that sort. Names are escaped in the text and
//! percent-encoded in the links; control characters are shown as a replacement.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_encode};
use std::cmp::Ordering;
use std::fmt::Write;

/// One line of the listing.
pub(super) struct Entry {
    pub(super) name: Vec<u8>,
    pub(super) folder: bool,
    /// Bytes.
    pub(super) len: u64,
    /// Seconds since 1970.
    pub(super) modified: i64,
}

/// What is sorted by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Column {
    Name,
    Size,
    Time,
}

/// How the listing is sorted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Order {
    column: Column,
    descending: bool,
}

const COLUMNS: [(Column, &str, &str); 3] = [
    (Column::Name, "name", "Name"),
    (Column::Size, "size", "Size"),
    (Column::Time, "time", "Modified (UTC)"),
];

/// Everything but RFC 3986's unreserved characters, so that no name can mean a scheme, a query or markup.
const NAME: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

const STYLE: &str = "\
:root{color-scheme:light dark;--ink:#1d2329;--dim:#66717c;--line:#e3e7eb;--page:#fff;--over:#f3f6f9;--link:#0b5cad}\
@media(prefers-color-scheme:dark){:root{--ink:#dfe4e9;--dim:#8c97a3;--line:#2b3238;--page:#14181c;--over:#1d2329;--link:#7ab7f5}}\
*{box-sizing:border-box}\
body{margin:0;background:var(--page);color:var(--ink);font:15px/1.5 system-ui,sans-serif}\
main{max-width:60rem;margin:0 auto;padding:2rem 1rem 3rem}\
h1{font-size:1.25rem;font-weight:600;margin:0 0 1rem;overflow-wrap:anywhere}\
a{color:var(--link);text-decoration:none}a:hover,a:focus-visible{text-decoration:underline}\
table{width:100%;border-collapse:collapse}\
th,td{padding:.4rem .6rem;border-bottom:1px solid var(--line);text-align:left}\
th{font-size:.8rem;font-weight:600;white-space:nowrap}th a{color:var(--dim)}\
th[aria-sort] a{color:var(--ink)}\
td.name{overflow-wrap:anywhere}td.dir a{font-weight:600}\
th.size,td.size{text-align:right}\
th.size,th.time{width:1%}\
td.size,td.time{color:var(--dim);white-space:nowrap;font-variant-numeric:tabular-nums}\
tbody tr:hover{background:var(--over)}\
p{color:var(--dim);font-size:.85rem}\
@media(max-width:36rem){th.time,td.time{display:none}}";

impl Order {
    /// From `sort=size&order=desc`; whatever else a query says sorts by name.
    pub(super) fn parse(query: Option<&str>) -> Order {
        let mut order = Order { column: Column::Name, descending: false };
        for pair in query.unwrap_or_default().split('&') {
            match pair.split_once('=') {
                Some(("sort", key)) => {
                    let column = COLUMNS.iter().find(|(_, known, _)| *known == key);
                    order.column = column.map_or(order.column, |(column, ..)| *column);
                }
                Some(("order", way)) => order.descending = way == "desc",
                _ => {}
            }
        }
        order
    }

    /// A short word for the entity tag.
    pub(super) fn code(self) -> &'static str {
        match (self.column, self.descending) {
            (Column::Name, false) => "n",
            (Column::Name, true) => "nd",
            (Column::Size, false) => "s",
            (Column::Size, true) => "sd",
            (Column::Time, false) => "t",
            (Column::Time, true) => "td",
        }
    }

    /// Folders first, whatever the order; equals by name.
    fn compare(self, a: &Entry, b: &Entry) -> Ordering {
        let by = match self.column {
            Column::Name => by_name(a, b),
            Column::Size if a.folder && b.folder => Ordering::Equal,
            Column::Size => a.len.cmp(&b.len),
            Column::Time => a.modified.cmp(&b.modified),
        };
        let by = if self.descending { by.reverse() } else { by };
        b.folder.cmp(&a.folder).then(by).then_with(|| by_name(a, b))
    }
}

fn by_name(a: &Entry, b: &Entry) -> Ordering {
    let lower = |entry: &Entry| entry.name.to_ascii_lowercase();
    lower(a).cmp(&lower(b)).then_with(|| a.name.cmp(&b.name))
}

/// Draws the folder `rel` (no leading slash). `more` says that not all of it is shown.
pub(super) fn draw(rel: &[u8], mut entries: Vec<Entry>, order: Order, more: bool) -> String {
    entries.sort_by(|a, b| order.compare(a, b));
    let mut page = String::with_capacity(4096 + entries.len() * 256);
    let title = if rel.is_empty() { "/".to_owned() } else { format!("/{}/", text(rel)) };
    let _ = write!(
        page,
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\
         <meta name=\"robots\" content=\"noindex\">\
         <title>Index of {title}</title><style>{STYLE}</style></head>\n<body><main>\n"
    );
    crumbs(&mut page, rel);
    heads(&mut page, order);
    if !rel.is_empty() {
        page.push_str(
            "<tr><td class=\"name dir\"><a href=\"../\">../</a></td><td class=\"size\"></td><td class=\"time\"></td></tr>\n",
        );
    }
    for entry in &entries {
        row(&mut page, entry);
    }
    page.push_str("</tbody></table>\n");
    summary(&mut page, &entries, more);
    page.push_str("</main></body></html>\n");
    page
}

/// `Index of / a / b /`, each a link to its folder.
fn crumbs(page: &mut String, rel: &[u8]) {
    let names: Vec<&[u8]> = rel.split(|b| *b == b'/').filter(|name| !name.is_empty()).collect();
    let up = |levels: usize| if levels == 0 { "./".to_owned() } else { "../".repeat(levels) };
    let _ = write!(page, "<h1>Index of <a href=\"{}\">/</a>", up(names.len()));
    for (at, name) in names.iter().enumerate() {
        let _ = write!(page, "<a href=\"{}\"><bdi>{}</bdi>/</a>", up(names.len() - 1 - at), text(name));
    }
    page.push_str("</h1>\n");
}

fn heads(page: &mut String, order: Order) {
    page.push_str("<table><thead><tr>");
    for (column, key, title) in COLUMNS {
        let current = column == order.column;
        let way = if current && !order.descending { "desc" } else { "asc" };
        let (sorted, arrow) = match (current, order.descending) {
            (false, _) => ("", ""),
            (true, false) => (" aria-sort=\"ascending\"", " ↑"),
            (true, true) => (" aria-sort=\"descending\"", " ↓"),
        };
        let _ = write!(
            page,
            "<th class=\"{key}\" scope=\"col\"{sorted}><a href=\"?sort={key}&amp;order={way}\">{title}{arrow}</a></th>"
        );
    }
    page.push_str("</tr></thead>\n<tbody>\n");
}

fn row(page: &mut String, entry: &Entry) {
    let (class, slash) = if entry.folder { ("name dir", "/") } else { ("name", "") };
    let (day, clock) = date(entry.modified);
    let _ = write!(
        page,
        "<tr><td class=\"{class}\"><a href=\"{}{slash}\"><bdi>{}</bdi>{slash}</a></td>",
        percent_encode(&entry.name, NAME),
        text(&entry.name)
    );
    match entry.folder {
        true => page.push_str("<td class=\"size\">–</td>"),
        false => {
            let _ = write!(page, "<td class=\"size\" title=\"{} bytes\">{}</td>", entry.len, size(entry.len));
        }
    }
    let minute = clock.get(..5).unwrap_or_default();
    let _ = writeln!(
        page,
        "<td class=\"time\"><time datetime=\"{day}T{clock}Z\">{day} {minute}</time></td></tr>"
    );
}

fn summary(page: &mut String, entries: &[Entry], more: bool) {
    let folders = entries.iter().filter(|entry| entry.folder).count();
    let files = entries.len() - folders;
    let bytes =
        entries.iter().filter(|entry| !entry.folder).fold(0u64, |sum, entry| sum.saturating_add(entry.len));
    let one = |n: usize, word: &str| format!("{n} {word}{}", if n == 1 { "" } else { "s" });
    let _ = write!(page, "<p>{}, {}, {}", one(folders, "folder"), one(files, "file"), size(bytes));
    if more {
        page.push_str(" shown. This folder holds more than a listing shows.");
    }
    page.push_str("</p>\n");
}

/// A name as text: escaped, control characters and what is not UTF-8 replaced.
fn text(name: &[u8]) -> String {
    let mut out = String::with_capacity(name.len());
    for c in String::from_utf8_lossy(name).chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c if c.is_control() => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

/// `1023 B`, `1.5 KiB`, `20 MiB`.
#[allow(clippy::cast_precision_loss, reason = "two digits are shown")]
fn size(bytes: u64) -> String {
    const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    let mut value = bytes as f64 / 1024.0;
    let mut unit = UNITS[0];
    for larger in &UNITS[1..] {
        // 1023.96 KiB would be shown as 1024 KiB.
        if value < 1023.5 {
            break;
        }
        value /= 1024.0;
        unit = larger;
    }
    if value < 9.95 { format!("{value:.1} {unit}") } else { format!("{value:.0} {unit}") }
}

/// Seconds since 1970 as `2026-07-01` and `12:34:56`, in UTC.
fn date(seconds: i64) -> (String, String) {
    let (days, rest) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    // Days since 0000-03-01, in eras of 400 years: the leap day is then a year's last.
    let shifted = days + 719_468;
    let (era, of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    let clock = format!("{:02}:{:02}:{:02}", rest / 3600, rest / 60 % 60, rest % 60);
    (format!("{year:04}-{month:02}-{day:02}"), clock)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::time::{Duration, UNIX_EPOCH};

    #[test]
    fn sizes_as_people_read_them() {
        for (bytes, expected) in [
            (0, "0 B"),
            (1023, "1023 B"),
            (1024, "1.0 KiB"),
            (1536, "1.5 KiB"),
            (10 * 1024, "10 KiB"),
            (1024 * 1024 - 1, "1.0 MiB"),
            (1024 * 1024, "1.0 MiB"),
            (20 * 1024 * 1024, "20 MiB"),
            (5_u64 << 30, "5.0 GiB"),
            (u64::MAX, "16 EiB"),
        ] {
            assert_eq!(size(bytes), expected);
        }
    }

    #[test]
    fn dates_before_1970() {
        assert_eq!(date(-1), ("1969-12-31".to_owned(), "23:59:59".to_owned()));
        assert_eq!(date(-62_167_219_200).0, "0000-01-01");
    }

    proptest! {
        #[test]
        fn dates_agree_with_httpdate(seconds in 0_i64..253_402_300_799) {
            let http = httpdate::fmt_http_date(UNIX_EPOCH + Duration::from_secs(seconds.unsigned_abs()));
            let words: Vec<&str> = http.split(' ').collect();
            let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
            let month = months.iter().position(|month| *month == words[2]).unwrap() + 1;
            let expected = (format!("{}-{month:02}-{}", words[3], words[1]), words[4].to_owned());
            prop_assert_eq!(date(seconds), expected);
        }

        #[test]
        fn no_name_breaks_out_of_the_page(name in prop::collection::vec(any::<u8>(), 1..40)) {
            let entry = Entry { name, folder: false, len: 1, modified: 0 };
            let shown = text(&entry.name);
            prop_assert!(!shown.contains(['<', '>', '"', '\'']) && !shown.chars().any(char::is_control));
            let mut line = String::new();
            row(&mut line, &entry);
            let href = line.split("href=\"").nth(1).unwrap().split('"').next().unwrap();
            prop_assert!(href.bytes().all(|b| b.is_ascii_alphanumeric() || b"-._~%".contains(&b)), "{}", href);
        }
    }
}
