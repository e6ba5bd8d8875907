// The pictures: unpacked once, painted on demand.

/** All bytes of the page's film; each block was stored as differences, a stride apart. */
async function unpacked(text) {
  const deflated = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const stream = new Blob([deflated]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** A reader that hands out one block after the other, its differences summed up. */
function blocks(bytes) {
  let start = 0;
  return (length, stride) => {
    const block = bytes.subarray(start, (start += length));
    for (let i = stride; i < length; i++) block[i] += block[i - stride];
    return block;
  };
}

/** 256 colours through these stops, as [r, g, b] each. */
function ramp(stops) {
  return Array.from({ length: 256 }, (_, i) => {
    const place = (i / 255) * (stops.length - 1);
    const left = Math.min(Math.floor(place), stops.length - 2);
    return stops[left].map((from, c) => from + (place - left) * (stops[left + 1][c] - from));
  });
}

async function loadedPicture(uri) {
  const picture = new Image();
  picture.src = uri;
  await picture.decode();
  return picture;
}

/** What can be painted: the point and the map of any frame, and the ends of the walks. */
async function openFilm(data, text) {
  const [width, height] = data.size;
  const size = width * height;
  const next = blocks(await unpacked(text));
  const photo = next(3 * size, 3);
  const shade = next(size, 1);
  const heat = ramp(data.heat);
  const reels = [];
  for (const walk of data.walks) {
    const baseline = next(3 * size, 3);
    const up = walk.direction === "to_image";
    reels.push({
      start: up ? baseline : photo,
      end: up ? photo : baseline,
      gone: next(size * walk.steps.length, size),
      levels: walk.levels,
      pictures: await Promise.all(walk.frames.map(loadedPicture)),
    });
  }

  /** Fill a canvas, pixel by pixel, with what `colour(i, out, o)` writes at out[o], out[o + 1], out[o + 2]. */
  function paint(canvas, colour) {
    const image = new ImageData(width, height);
    for (let i = 0; i < size; i++) {
      colour(i, image.data, 4 * i);
      image.data[4 * i + 3] = 255;
    }
    canvas.getContext("2d").putImageData(image, 0, 0);
  }

  function point(canvas, { walk, frame }) {
    const { start, end, gone, levels, pictures } = reels[walk];
    if (pictures.length) {
      canvas.getContext("2d").drawImage(pictures[frame], 0, 0);
      return;
    }
    paint(canvas, (i, out, o) => {
      const fraction = gone[frame * size + i] / levels;
      for (let c = 0; c < 3; c++) out[o + c] = start[3 * i + c] + fraction * (end[3 * i + c] - start[3 * i + c]);
    });
  }

  function map(canvas, { walk, frame }, over) {
    const { gone, levels } = reels[walk];
    paint(canvas, (i, out, o) => {
      const credit = (shade[i] * gone[frame * size + i]) / levels;
      const colour = heat[Math.round(credit)];
      const glow = over ? Math.sqrt(credit / 255) : 1;
      const grey = 0.45 * (0.299 * photo[3 * i] + 0.587 * photo[3 * i + 1] + 0.114 * photo[3 * i + 2]);
      for (let c = 0; c < 3; c++) out[o + c] = glow * colour[c] + (1 - glow) * grey;
    });
  }

  /** The first or last picture of a walk, small enough for a button. */
  function thumb(canvas, walk, last) {
    const picture = last ? reels[walk].end : reels[walk].start;
    paint(canvas, (i, out, o) => {
      for (let c = 0; c < 3; c++) out[o + c] = picture[3 * i + c];
    });
  }

  return { point, map, thumb };
}
