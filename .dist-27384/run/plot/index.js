/** Curves of runs as pictures, with nothing but this project: no browser, no font, no library. */
export { barChart } from './bars.js';
export { chart } from './chart.js';
export { toPng } from './png.js';
export { toSvg } from './svg.js';
//# sourceMappingURL=index.js.map