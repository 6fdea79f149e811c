/** What Playwright turns off in Chromium: a list of ours replaces its own. */
const OFF_FOR_PLAYWRIGHT = [
  'AvoidUnnecessaryBeforeUnloadCheckSync',
  'DestroyProfileOnBrowserClose',
  'HttpsUpgrades',
  'HttpsFirstBalancedModeAutoEnable',
  'LensOverlay',
  'MediaRouter',
  'PaintHolding',
  'ThirdPartyStoragePartitioning',
  'AvoidCorsURLLoaderRestartOnRedirect',
  'TcpPortRandomizationWin',
  'OptimizationHints',
  'NetworkTimeServiceQuerying',
  'AimEnabled',
  'PreconnectToSearch',
]
/** Pages behind the address bar, which nobody sees; each new window would load two of them. */
const ADDRESS_BAR_PAGES = ['WebUIOmniboxPopup', 'WebUIOmniboxAimPopup']

export const CHROMIUM_SWITCHES = [
  // Containers give /dev/shm too little; the sandbox wants rights they do not have, and the pages are our own.
  '--disable-dev-shm-usage',
  '--disable-gpu',
  '--no-sandbox',
  `--disable-features=${[...OFF_FOR_PLAYWRIGHT, ...ADDRESS_BAR_PAGES].join(',')}`,
]

/** For tests, whose pages do not live long enough to earn back what optimising their code costs. */
export const NOT_OPTIMISING = '--js-flags=--no-turbofan,--no-maglev'
