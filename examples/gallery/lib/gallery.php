<?php
// What the gallery's scripts have in common: which picture is meant, at what size, and how to say no.
//
// A request has four variables, named as the galleries of 2008 named theirs: Qwd the directory, Qif the picture, Qiv how
// it is shown, Qis its size. Each is checked here, once, before anything else sees it. This file is outside the folder that
// is served. Not here: HTML (site/index.php), drawing (site/thumb.php, site/lettered.php).

declare(strict_types=1);

/** Where the pictures are. */
const PICTURES = __DIR__ . '/../site/pictures';
/** The longest edge of a picture by the size's name, in pixels. Nobody can ask for another. */
const SIZES = ['S' => 160, 'M' => 480, 'L' => 800, 'XL' => 1280];
/** How a picture can be shown. */
const VIEWS = ['thumbs', 'name', 'none'];
/** Pictures with more pixels than this are not opened: a few KB of JPEG can claim gigabytes. */
const PIXELS_MAX = 50_000_000;

/** Text as HTML. */
function h(string $text): string
{
    return htmlspecialchars($text, ENT_QUOTES | ENT_SUBSTITUTE, 'UTF-8');
}

/** Ends the request with a short page. */
function refuse(int $status, string $words): never
{
    http_response_code($status);
    header('Content-Type: text/html; charset=utf-8');
    echo "<!doctype html>\n<title>", h($words), "</title>\n<p>", h($words), ".\n<p><a href=\"/\">To the gallery</a>\n";
    exit;
}

/** A variable of the query as text; `?Qwd[]=x` makes PHP hand out an array. */
function variable(string $name, string $otherwise): string
{
    $value = $_GET[$name] ?? $otherwise;
    if (!is_string($value) || strlen($value) > 200) {
        refuse(400, "$name is not a text of at most 200 bytes");
    }
    return $value === '' ? $otherwise : $value;
}

/** One of a few words, or 404: what is not there cannot be asked for, nor fill a cache. */
function word(string $name, array $words, string $otherwise): string
{
    $value = variable($name, $otherwise);
    in_array($value, $words, true) || refuse(404, "$name is one of " . implode(', ', $words));
    return $value;
}

/** The directory that Qwd names, below the pictures: `.`, `./landscapes`, `./a/b`. */
function directory(): string
{
    $value = variable('Qwd', '.');
    // Letters, digits, - and _ only: no dots but the first, so no way up, and nothing hidden.
    preg_match('#^\.(/[A-Za-z0-9_-]+){0,4}/?$#D', $value) || refuse(404, 'There is no such directory');
    $value = rtrim($value, '/');
    // Where a link leads out of the pictures, it ends here.
    $top = realpath(PICTURES);
    $real = realpath(PICTURES . '/' . $value);
    if ($top === false || $real === false || !is_dir($real) || ($real !== $top && !str_starts_with($real, "$top/"))) {
        refuse(404, 'There is no such directory');
    }
    return $value;
}

/** The names of the pictures in a directory, sorted. */
function pictures(string $directory): array
{
    $names = array_filter(scandir(PICTURES . "/$directory") ?: [], is_picture(...));
    return array_values($names);
}

/** The names of the directories in a directory, sorted. */
function directories(string $directory): array
{
    $names = scandir(PICTURES . "/$directory") ?: [];
    return array_values(array_filter($names, fn($name) =>
        preg_match('#^[A-Za-z0-9_-]+$#D', $name) && is_dir(PICTURES . "/$directory/$name")));
}

/** True for names like `sea-1.jpg`; the first character is no dot. */
function is_picture(string $name): bool
{
    return preg_match('#^[A-Za-z0-9_-][A-Za-z0-9._-]*\.jpe?g$#D', $name) === 1;
}

/** The file of the picture that Qif names in a directory. */
function file_of(string $directory, string $name): string
{
    $path = PICTURES . "/$directory/$name";
    if (!is_picture($name) || is_link($path) || !is_file($path)) {
        refuse(404, 'There is no such picture');
    }
    return $path;
}

/** Width and height of a picture that may be opened; null for what only has the name of one. */
function size_of(string $path): ?array
{
    $size = @getimagesize($path);
    $fine = $size !== false && $size[2] === IMAGETYPE_JPEG && $size[0] > 0 && $size[1] > 0;
    return $fine && $size[0] * $size[1] <= PIXELS_MAX ? [$size[0], $size[1]] : null;
}

/** Opens a picture for drawing. */
function open_picture(string $path): GdImage
{
    $image = size_of($path) === null ? false : @imagecreatefromjpeg($path);
    return $image ?: refuse(404, 'This picture cannot be read');
}

/** Sends a picture. */
function send_picture(GdImage $image, int $quality): void
{
    ob_start();
    imagejpeg($image, null, $quality);
    $bytes = (string) ob_get_clean();
    header('Content-Type: image/jpeg');
    header('Content-Length: ' . strlen($bytes));
    echo $bytes;
}

/**
 * The address of a script with some of the four variables. Slashes stay slashes, as everybody types them: `%2F` is another
 * address to a cache, and each page would be kept twice.
 */
function address(string $script, array $variables): string
{
    ksort($variables);
    return $script . '?' . str_replace('%2F', '/', http_build_query($variables, '', '&', PHP_QUERY_RFC3986));
}
