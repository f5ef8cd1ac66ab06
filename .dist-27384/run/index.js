export { JournalError, RunError } from './errors.js';
export { exactParse, exactStringify } from './exact-json.js';
export { configChanges, } from './identity.js';
export { Journal } from './journal.js';
export { takeLock } from './lock.js';
export { headline, mainMetrics } from './main-metrics.js';
export { isMetricName, metricNames } from './metric-names.js';
export { barChart, chart, toPng, toSvg, } from './plot/index.js';
export { Run } from './run.js';
//# sourceMappingURL=index.js.map