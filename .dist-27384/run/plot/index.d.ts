/** Curves of runs as pictures, with nothing but this project: no browser, no font, no library. */
export { type BarChartOptions, type BarGroup, type BarPanel, barChart } from './bars.js';
export { type ChartOptions, type ChartRun, chart } from './chart.js';
export type { Drawing } from './drawing.js';
export { toPng } from './png.js';
export { toSvg } from './svg.js';
