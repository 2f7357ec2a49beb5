<?php
// A gallery that reads its folder and the details of each picture for every request, as many of its time did.
$folder = preg_replace('/[^a-z]/', '', $_GET['Qwd'] ?? 'flowers') ?: 'flowers';
$shown = preg_replace('/[^a-z.]/', '', $_GET['Qif'] ?? 'rose.jpg') ?: 'rose.jpg';
$view = $_GET['Qiv'] ?? 'thumbs';
$size = $_GET['Qis'] ?? 'S';

/** What a picture's details cost when nobody keeps them. */
function details(string $name): string
{
    $sum = $name;
    for ($turn = 0; $turn < 1500; $turn++) {
        $sum = hash('sha256', $sum . $turn);
    }
    return substr($sum, 0, 12);
}

header('Content-Type: text/html; charset=utf-8');
echo "<!doctype html>\n<title>", htmlspecialchars("$folder: $shown"), "</title>\n<h1>", htmlspecialchars($folder), "</h1>\n<ul>\n";
for ($number = 1; $number <= 24; $number++) {
    $name = "$folder-$number.jpg";
    $link = '?' . http_build_query(['Qwd' => $folder, 'Qif' => $name, 'Qiv' => $view, 'Qis' => $size]);
    echo '<li><a href="', htmlspecialchars($link), '">', htmlspecialchars($name), '</a> ', details($name), "</li>\n";
}
echo "</ul>\n<p>", htmlspecialchars("$shown as $view, size $size"), "</p>\n";
