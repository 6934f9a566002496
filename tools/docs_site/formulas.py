r"""Formulas of kernels and of theory, as the site shows them below the summary.

Docstrings have them as plain text, which is what `help` should print; here they are in TeX. A name
without an entry shows its plain text alone.
"""

from __future__ import annotations

_K = "kernelight.kernels."
_T = "kernelight.theory."
FORMULAS = {
    _K + "GMM": r"K(u, v) = \frac{\sum_i \min(u_i, v_i)^p}{\sum_i \max(u_i, v_i)^p}",
    _K + "MinMax": r"K(u, v) = \frac{\sum_i \min(u_i, v_i)}{\sum_i \max(u_i, v_i)}",
    _K + "ExpGMM": r"K(u, v) = e^{-\gamma\, (1 - \mathrm{GMM}(u, v))}",
    _K + "Intersection": r"K(u, v) = \sum_i \min\left(\frac{u_i}{\lVert u \rVert_1},"
    r" \frac{v_i}{\lVert v \rVert_1}\right)",
    _K + "RBF": r"K(u, v) = e^{-\gamma (1 - \rho)}, \quad"
    r" \rho = \frac{u \cdot v}{\lVert u \rVert\, \lVert v \rVert}",
    _K
    + "FoldedRBF": r"K(u, v) = \tfrac12 e^{-\gamma (1 - \rho)} + \tfrac12 e^{-\gamma (1 + \rho)}",
    _K + "Gaussian": r"K(u, v) = \exp\left(-\frac{\lVert u - v \rVert^2}{2 \sigma^2}\right)",
    _K + "Linear": r"K(u, v) = \frac{u \cdot v}{\lVert u \rVert\, \lVert v \rVert}",
    _K + "Acos": r"K(u, v) = 1 - \frac{\arccos \rho}{\pi}",
    _K + "AcosChi2": r"K(u, v) = 1 - \frac{\arccos \rho}{\pi}, \quad"
    r" \rho = \sum_i \frac{2 u_i v_i}{u_i + v_i}",
    _K + "Product": r"K(u, v) = \prod_j K_j(u, v)",
    _K + "Sum": r"K(u, v) = \sum_j w_j K_j(u, v)",
    _T + "band_probability": r"1 - (1 - J^r)^b",
    _T + "band_threshold": r"J = b^{-1/r}",
    _T + "collision_variance": r"k \operatorname{Var} = P (1 - P)",
    _T + "bbit_collision": r"P = K + \frac{1 - K}{2^b}",
    _T + "kernel_from_bbit": r"K = \frac{P - 2^{-b}}{1 - 2^{-b}}",
    _T + "bbit_variance": r"k \operatorname{Var} = \frac{P (1 - P)}{(1 - 2^{-b})^2}, \quad"
    r" P = K + \frac{1 - K}{2^b}",
    _T + "zero_bit_bounds": r"K \le P_0 \le \sum_i \min\left(\frac{u_i}{\lVert u \rVert_1},"
    r" \frac{v_i}{\lVert v \rVert_1}\right)",
    _T + "rff_variance": r"k \operatorname{Var} = \tfrac12 + \tfrac12 (1 - E^2)^2",
    _T + "nrff_variance": r"k \operatorname{Var} \to (1 - E^2)^2 \left(1 + \tfrac14 E^2\right)",
    _T + "nrff_bias": r"-\frac{E (1 - E^4)}{8 k}",
    _T + "paired_variance": r"k \operatorname{Var} = (1 - E^2)^2",
    _T + "projection_variance": r"k \operatorname{Var} = 1 + \rho^2",
    _T + "folded_kernel": r"F = e^{-\gamma} \cosh(\gamma \rho)",
    _T + "folded_variance": r"k \operatorname{Var} = \tfrac14 (1 - q)^2 - (F^2 - q)(1 - 2 F^2),"
    r" \quad q = e^{-2 \gamma}",
    _T + "rbf_through_gmm_variance": r"k \operatorname{Var} \to 4 \gamma^2 E^2 s^2 (1 + s)^4"
    r" g (1 - g), \quad s = \sqrt{\tfrac{1 - \rho}{2}},\ g = \frac{1 - s}{1 + s},"
    r"\ E = e^{-2 \gamma s^2}",
    _T + "hamming_rate": r"h(K) = \frac{8}{\pi^2} \sum_{m \ge 1} \frac{1 - K^{m^2}}{4 m^2 - 1}",
    _T + "hamming_bounds": r"\frac{4}{\pi^2} (1 - K) \le h(K) \le \min\left(\tfrac12 \sqrt{1 - K},"
    r"\ \frac{4}{\pi^2} \left(1 - \tfrac23 K\right)\right)",
    _T + "kernel_from_hamming_variance": r"k \operatorname{Var} \to \frac{h (1 - h)}{h'(K)^2}",
    _T
    + "bits_needed": r"p = \frac{\log(n^2 / (1 - \mathrm{confidence}))}{2\, \mathrm{deviation}^2}",
    _T + "sign_cosine_mean": r"s(K) = \frac{8}{\pi^2} \sum_{m\ \mathrm{odd}} \frac{K^{m^2}}{m^2}",
    _T + "kernel_from_sign_cosine_variance": r"k \operatorname{Var} \to \frac{1 - s^2}{s'(K)^2}",
    _T + "sign_cauchy_collision": r"P = \frac12 + \frac1{\pi^2} \int_0^\infty"
    r" \log \frac{\lVert u \rVert_1 + \tau \lVert v \rVert_1}{\sum_i \lvert u_i - \tau v_i \rvert}"
    r"\, \frac{d\tau}{\tau}",
    _T + "sign_cauchy_acos": r"1 - \frac{\arccos \chi^2}{\pi}",
    _T + "sign_cauchy_arctan": r"\frac12 + \frac{2}{\pi^2} \int_0^{\pi/2} \arctan(c \tan t)\, dt,"
    r" \quad c = \frac{\chi^2}{2 - 2 \chi^2}",
    _T + "gmm_limit": r"f_\infty = \frac{1 + \sigma - q}{1 + \sigma + q}, \quad"
    r" q = \sqrt{1 + \sigma^2 - 2 \sigma \rho}",
    _T + "gmm_variance": r"n \operatorname{Var}(g_n) \to \frac{V}{H^4}"
    r" \frac{\mathbb E T^2}{(\mathbb E T)^2}",
    _T + "gmm_variance_two": r"\frac{n}{\log n} \operatorname{Var}(g_n) \to"
    r" \frac{4}{\pi^2} \frac{V}{H^4}",
    _T + "elliptical_h": r"H = \frac{1 + \sigma + q}{\pi}, \quad"
    r" q = \sqrt{1 + \sigma^2 - 2 \sigma \rho}",
    _T + "t_moment": r"\mathbb E T^r = \nu^{r/2}\, \Gamma\left(1 + \tfrac r2\right)"
    r" \frac{\Gamma((\nu - r) / 2)}{\Gamma(\nu / 2)}",
    _T + "rho_from_gmm": r"\rho = \frac{1 + \sigma^2 - q^2}{2 \sigma}, \quad"
    r" q = (1 + \sigma) \frac{1 - g}{1 + g}",
    _T + "cosine_variance": r"n \operatorname{Var}(c_n) \to \frac{\nu - 2}{\nu - 4} (1 - \rho^2)^2",
}
