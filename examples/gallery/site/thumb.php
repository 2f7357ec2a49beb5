<?php
// A picture at one of four sizes, drawn with GD for every request anew.

declare(strict_types=1);
require __DIR__ . '/../lib/gallery.php';

$directory = directory();
$edge = SIZES[word('Qis', array_keys(SIZES), 'S')];
$image = open_picture(file_of($directory, variable('Qif', '')));
$scale = min(1, $edge / max(imagesx($image), imagesy($image)));
$width = max(1, (int) round(imagesx($image) * $scale));
$height = max(1, (int) round(imagesy($image) * $scale));
$thumb = imagecreatetruecolor($width, $height);
imagecopyresampled($thumb, $image, 0, 0, 0, 0, $width, $height, imagesx($image), imagesy($image));
send_picture($thumb, 82);
