<?php
// The gallery's pages: a directory with its pictures, or one picture among them. Made anew for every request, and saying
// nothing about caching, as its kind does.

declare(strict_types=1);
require __DIR__ . '/../lib/gallery.php';

$directory = directory();
$view = word('Qiv', VIEWS, 'thumbs');
$size = word('Qis', array_keys(SIZES), 'M');
$shown = variable('Qif', '');
$names = pictures($directory);
$known = $shown === '' ? [0, 0] : (size_of(file_of($directory, $shown)) ?? refuse(404, 'This picture cannot be read'));
$title = $shown === '' ? ltrim($directory, './') : $shown;
$title = $title === '' ? 'Gallery' : $title;
$to = fn(array $other) => h(address('/index.php', $other + ['Qwd' => $directory, 'Qif' => $shown, 'Qiv' => $view, 'Qis' => $size]));
$image = fn(string $name, string $size) => h(address('/thumb.php', ['Qwd' => $directory, 'Qif' => $name, 'Qis' => $size]));

header('Content-Type: text/html; charset=utf-8');
?>
<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title><?= h($title) ?></title>
<link rel="stylesheet" href="/gallery.css">
<h1><a href="/">Gallery</a><?= $directory === '.' ? '' : ' ' . h(substr($directory, 1)) ?></h1>
<nav>
<?php foreach (directories($directory) as $name): ?>
  <a href="<?= $to(['Qwd' => "$directory/$name", 'Qif' => '']) ?>"><?= h($name) ?></a>
<?php endforeach ?>
</nav>
<?php if ($shown !== ''):
    [$width, $height] = $known;
    $at = (int) array_search($shown, $names, true);
    ?>
<figure>
  <img src="<?= $image($shown, $size) ?>" alt="<?= h($shown) ?>">
  <figcaption><?= h($shown) ?>: <?= $width ?> × <?= $height ?>, <?= intdiv((int) filesize(PICTURES . "/$directory/$shown"), 1000) ?> KB,
    <?= $at + 1 ?> of <?= count($names) ?>.
    <?php if (isset($names[$at - 1])): ?><a href="<?= $to(['Qif' => $names[$at - 1]]) ?>">previous</a><?php endif ?>
    <?php if (isset($names[$at + 1])): ?><a href="<?= $to(['Qif' => $names[$at + 1]]) ?>">next</a><?php endif ?>
    <?php foreach (array_keys(SIZES) as $other): ?><a href="<?= $to(['Qis' => $other]) ?>"><?= $other ?></a> <?php endforeach ?>
    <a href="<?= h(address('/lettered.php', ['Qwd' => $directory, 'Qif' => $shown])) ?>">with its copyright</a>
  </figcaption>
</figure>
<?php endif ?>
<?php if ($names === [] && directories($directory) === []): ?>
<p>Empty gallery!
<?php endif ?>
<?php if ($view !== 'none' || $shown === ''): ?>
<ul>
<?php foreach ($names as $name):
    [$width, $height] = size_of(PICTURES . "/$directory/$name") ?? [0, 0]; ?>
  <li><a href="<?= $to(['Qif' => $name]) ?>"><?php if ($view === 'thumbs'): ?><img src="<?= $image($name, 'S') ?>" alt="" loading="lazy"><?php endif ?>
    <?= h($name) ?></a> <?= $width ?> × <?= $height ?></li>
<?php endforeach ?>
</ul>
<?php endif ?>
</html>
