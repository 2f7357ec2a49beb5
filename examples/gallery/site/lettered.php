<?php
// A picture in full with a copyright line drawn on it, in the language the reader asks for: the handler that an output
// cache is for. Every request decodes, draws and encodes; an answer weighs about a quarter of a megabyte.

declare(strict_types=1);
require __DIR__ . '/../lib/gallery.php';

const LINES = [
    'en' => '(c) the photographer. All rights reserved.',
    'de' => '(c) die Fotografin. Alle Rechte vorbehalten.',
    'es' => '(c) la autora. Todos los derechos reservados.',
];

/** The first language of the reader's that there is a line for, by weight (RFC 9110 §12.5.4); English else. */
function language(string $wish): string
{
    $best = ['en', 0.0];
    foreach (array_slice(explode(',', substr($wish, 0, 500)), 0, 20) as $part) {
        $words = array_map('trim', explode(';', $part));
        $tag = strtolower(explode('-', $words[0])[0]);
        $weight = 1.0;
        foreach ($words as $word) {
            $weight = str_starts_with($word, 'q=') ? (float) substr($word, 2) : $weight;
        }
        if (isset(LINES[$tag]) && $weight > $best[1]) {
            $best = [$tag, $weight];
        }
    }
    return $best[0];
}

$directory = directory();
$image = open_picture(file_of($directory, variable('Qif', '')));
$language = language($_SERVER['HTTP_ACCEPT_LANGUAGE'] ?? '');
// GD's own letters, drawn small and enlarged: no font file, no licence.
$line = LINES[$language];
$small = imagecreatetruecolor(9 * strlen($line) + 8, 19);
imagestring($small, 5, 4, 2, $line, imagecolorallocate($small, 255, 214, 10));
$width = (int) min(imagesx($image) - 1, 2 * imagesx($small));
$height = max(1, (int) ($width * imagesy($small) / imagesx($small)));
imagecopyresized($image, $small, 0, imagesy($image) - $height, 0, 0, $width, $height, imagesx($small), imagesy($small));

header('Vary: Accept-Language');
header("Content-Language: $language");
send_picture($image, 89);
